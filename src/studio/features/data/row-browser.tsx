/** Pages through the rows of a data set; they come from its worker, a page at a time. */
import { Button, Code, Group, Pagination, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { formatCount } from '../../store/format.ts';
import { commands, useStudio } from '../../store/studio-store.ts';

const ROWS_PER_PAGE = 5;

export function RowBrowser({ name }: { name: string }) {
  const rows = useStudio((state) => (state.rows?.name === name ? state.rows : null));
  const [open, setOpen] = useState(false);
  const turnTo = (page: number) => commands.readRows(name, (page - 1) * ROWS_PER_PAGE, page * ROWS_PER_PAGE);
  const toggle = () => {
    if (!open) turnTo(1);
    setOpen(!open);
  };
  return (
    <div>
      <Button
        size="compact-xs"
        variant="subtle"
        data-testid="show-rows"
        aria-expanded={open}
        onClick={toggle}
      >
        {open ? 'Hide rows' : 'Look at rows'}
      </Button>
      {open && rows && (
        <Stack gap="sm" mt="xs" data-testid="rows">
          {rows.rows.map((row, i) => {
            const number = rows.from + i + 1;
            return (
              <div key={number}>
                <Text size="xs" c="dimmed">
                  row {formatCount(number)}
                  {row.answer !== null && ` · answer: ${row.answer}`}
                  {row.turns && ` · ${row.turns.length} turns`}
                </Text>
                {row.prompt !== '' && (
                  <Code block className="data-sample">
                    {row.prompt}
                  </Code>
                )}
                {row.completion !== '' && (
                  <Code block className="data-sample data-trained">
                    {row.completion}
                  </Code>
                )}
              </div>
            );
          })}
          <Group justify="center">
            <Pagination
              size="sm"
              total={Math.max(1, Math.ceil(rows.total / ROWS_PER_PAGE))}
              value={Math.floor(rows.from / ROWS_PER_PAGE) + 1}
              onChange={turnTo}
              getControlProps={(control) => ({ 'aria-label': `${control} page` })}
            />
          </Group>
        </Stack>
      )}
    </div>
  );
}
