/** Says which column of a file is what, with a preview of the first rows. */
import { Button, Code, Group, Select, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { Column, Mapping } from '../../../worker/protocol.ts';

const ROLES = [
  ['prompt', 'Prompt', 'shown to the model'],
  ['completion', 'Completion', 'what it learns to write'],
  ['answer', 'Answer', 'what its result is checked against'],
  ['text', 'Plain text', 'learned whole, in place of the others'],
] as const satisfies readonly (readonly [keyof Mapping, string, string])[];

/** A mapping that a run can use: text alone, or a completion or an answer. */
export function isComplete({ prompt, completion, answer, text }: Mapping): boolean {
  if (text) return !prompt && !completion && !answer;
  return Boolean(completion || (prompt && answer));
}

interface ColumnMappingProps {
  columns: readonly Column[];
  initial: Mapping | null;
  onChoose(mapping: Mapping): void;
}

export function ColumnMapping({ columns, initial, onChoose }: ColumnMappingProps) {
  const [mapping, setMapping] = useState<Mapping>(initial ?? {});
  const names = columns.map(({ name }) => name);
  const exampleOf = (name: string | undefined) => columns.find((column) => column.name === name)?.examples[0];
  return (
    <Stack gap="xs" data-testid="column-mapping">
      <Group gap="sm" align="end" wrap="wrap">
        {ROLES.map(([role, label, help]) => (
          <Select
            key={role}
            label={label}
            description={help}
            data={names}
            value={mapping[role] ?? null}
            clearable
            searchable={names.length > 8}
            placeholder="none"
            size="xs"
            className="data-column"
            onChange={(name) => setMapping({ ...mapping, [role]: name ?? undefined })}
          />
        ))}
        <Button
          size="xs"
          data-testid="use-mapping"
          disabled={!isComplete(mapping)}
          onClick={() => onChoose(mapping)}
        >
          Read it so
        </Button>
      </Group>
      {ROLES.map(([role, label]) => {
        const example = exampleOf(mapping[role]);
        return (
          example !== undefined && (
            <div key={role}>
              <Text size="xs" c="dimmed">
                {label}, of the first row
              </Text>
              <Code
                block
                className={
                  role === 'prompt' || role === 'answer' ? 'data-sample' : 'data-sample data-trained'
                }
              >
                {example}
              </Code>
            </div>
          )
        );
      })}
      {!isComplete(mapping) && (
        <Text size="xs" c="dimmed">
          Choose a completion, or a prompt and its answer, or plain text alone.
        </Text>
      )}
    </Stack>
  );
}
