/** Files that were dropped: what was kept, what was not and why, and training on them. */
import { Button, Card, Code, FileButton, Group, Stack, Table, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import type { DatasetReport } from '../../../worker/protocol.ts';
import { fileRecipe } from '../../store/recipes.ts';
import { go } from '../../store/route.ts';
import { commands, useStudio } from '../../store/studio-store.ts';
import './data-panel.css';

function Report({ report }: { report: DatasetReport }) {
  const busy = useStudio(({ run }) => run === 'running' || run === 'paused' || run === 'loading');
  const backend = useStudio((state) => state.compute);
  return (
    <Card data-testid="dataset-report" component="section" aria-label={`Data set ${report.name}`}>
      <Group justify="space-between" wrap="wrap">
        <div>
          <Text fw={600}>{report.name}</Text>
          <Text size="sm" c="dimmed">
            {report.format} · {report.kept.toLocaleString('en')} of {report.rows.toLocaleString('en')} rows
            kept
            {report.issueCount > 0 && `, ${report.issueCount.toLocaleString('en')} left out`}
          </Text>
        </div>
        <Button
          data-testid="train-on-file"
          variant="light"
          disabled={busy || report.kept === 0}
          onClick={() => {
            go('live');
            commands.start(fileRecipe(report.name), { backend, store: true });
          }}
        >
          Train on this file
        </Button>
      </Group>
      {report.sample && (
        <Stack gap={4} mt="sm">
          <Text size="xs" c="dimmed">
            First row: the prompt is shown to the model, the rest is trained
          </Text>
          <Code block className="data-sample">
            {report.sample.prompt}
          </Code>
          <Code block className="data-sample data-trained">
            {report.sample.completion}
          </Code>
        </Stack>
      )}
      {report.issues.length > 0 && (
        <Table.ScrollContainer minWidth={200} mt="sm" mah={260}>
          <Table fz="xs" verticalSpacing={4}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th w={56}>line</Table.Th>
                <Table.Th>why it was left out, and how it begins</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {report.issues.map((issue) => (
                <Table.Tr key={issue.line}>
                  <Table.Td className="data-line">{issue.line}</Table.Td>
                  <Table.Td>
                    {issue.reason}
                    <div className="data-snippet">{issue.snippet}</div>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
          {report.issueCount > report.issues.length && (
            <Text size="xs" c="dimmed" mt={4}>
              … and {(report.issueCount - report.issues.length).toLocaleString('en')} more
            </Text>
          )}
        </Table.ScrollContainer>
      )}
    </Card>
  );
}

export function DataPanel() {
  const datasets = useStudio((state) => state.datasets);
  const model = useStudio((state) => state.model);
  return (
    <Stack gap="md">
      <Card>
        <Group justify="space-between" wrap="wrap">
          <div>
            <Text fw={600}>Your own data</Text>
            <Text size="sm" c="dimmed">
              Drop a .jsonl file anywhere (GSM8K's question and answer, or prompt and completion), or a model
              folder. Nothing leaves this machine.
            </Text>
          </div>
          <FileButton
            multiple
            onChange={(files) => files.length > 0 && commands.drop(files)}
            inputProps={{ 'data-testid': 'data-file', 'aria-label': 'Data file' } as object}
          >
            {(props) => (
              <Button {...props} variant="default">
                Choose files…
              </Button>
            )}
          </FileButton>
        </Group>
        {model && (
          <Text size="sm" mt="xs">
            {model.message}
          </Text>
        )}
      </Card>
      {datasets.map((report) => (
        <Report key={report.name} report={report} />
      ))}
    </Stack>
  );
}

/** The whole page takes dropped files; a veil says so while they hover. */
export function DropVeil() {
  const [over, setOver] = useState(false);
  useEffect(() => {
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false;
    const enter = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(false);
      const files = [...(event.dataTransfer?.files ?? [])];
      if (files.length > 0) commands.drop(files);
    };
    window.addEventListener('dragover', enter);
    window.addEventListener('dragleave', leave);
    window.addEventListener('drop', drop);
    return () => {
      window.removeEventListener('dragover', enter);
      window.removeEventListener('dragleave', leave);
      window.removeEventListener('drop', drop);
    };
  }, []);
  return over ? <div className="data-veil">Drop to load</div> : null;
}
