/** A data set: what was kept of its file, what was not and why, other ways to read it, and training on it. */
import { Badge, Button, Card, Code, Group, SegmentedControl, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { type DatasetReport, type LoadChoice, REPAIRS } from '../../../worker/protocol.ts';
import { formatBytes, formatCount } from '../../store/format.ts';
import { fileRecipe } from '../../store/recipes.ts';
import { go } from '../../store/route.ts';
import type { LoadedData } from '../../store/studio-state.ts';
import { commands, useStudio } from '../../store/studio-store.ts';
import { ColumnMapping } from './column-mapping.tsx';
import { IssueTable } from './issue-table.tsx';
import { RowBrowser } from './row-browser.tsx';

const POLICIES = [
  { value: 'skip', label: 'leave out' },
  { value: 'fix', label: 'mend' },
  { value: 'abort', label: 'refuse the file' },
];

function Facts({ report, kept }: { report: DatasetReport; kept: boolean }) {
  const { format, rows, issueCount, answers = 0, bytes } = report;
  const repairs = Object.entries(report.repairs ?? {});
  return (
    <Text size="sm" c="dimmed">
      {format} · {formatCount(report.kept)} of {formatCount(rows)} rows kept
      {issueCount > 0 && `, ${formatCount(issueCount)} left out`}
      {answers > 0 && ` · ${formatCount(answers)} with an answer to check`}
      {bytes !== undefined && ` · ${formatBytes(bytes)}`}
      {!kept && ' · gone when the page is left'}
      {repairs.map(
        ([repair, times]) => ` · mended: ${REPAIRS[repair as keyof typeof REPAIRS]}, ${formatCount(times)}`,
      )}
    </Text>
  );
}

/** Other ways to read the file, while it is at hand. */
function Reading({ report, choice }: { report: DatasetReport; choice: LoadChoice }) {
  const [mapping, setMapping] = useState(false);
  const read = (change: Partial<LoadChoice>) => commands.reloadData(report.name, { ...choice, ...change });
  const { columns = [], fixable = 0, issueCount } = report;
  return (
    <>
      {(issueCount > 0 || choice.policy !== 'skip') && (
        <Group gap="xs" mt="sm">
          <Text size="xs" c="dimmed" id={`policy-${report.name}`}>
            Rows that are no good:
          </Text>
          <SegmentedControl
            size="xs"
            data-testid="policy"
            aria-labelledby={`policy-${report.name}`}
            data={POLICIES}
            value={choice.policy}
            onChange={(policy) => read({ policy: policy as LoadChoice['policy'] })}
          />
          {fixable > 0 && choice.policy === 'skip' && (
            <Badge variant="light" tt="none">
              {formatCount(fixable)} can be mended
            </Badge>
          )}
        </Group>
      )}
      {columns.length > 0 && (
        <Button
          mt={4}
          size="compact-xs"
          variant="subtle"
          data-testid="show-mapping"
          aria-expanded={mapping}
          onClick={() => setMapping(!mapping)}
        >
          {mapping ? 'Hide columns' : 'Choose columns'}
        </Button>
      )}
      {mapping && (
        <ColumnMapping
          columns={columns}
          initial={choice.mapping}
          onChoose={(chosen) => read({ mapping: chosen })}
        />
      )}
      {choice.mapping && (
        <Button size="compact-xs" variant="subtle" onClick={() => read({ mapping: null })}>
          Recognise the columns again
        </Button>
      )}
    </>
  );
}

export function DataSetCard({ data }: { data: LoadedData }) {
  const { report, choice, kept } = data;
  const busy = useStudio(({ run }) => run === 'running' || run === 'paused' || run === 'loading');
  const backend = useStudio((state) => state.compute);
  const [asked, setAsked] = useState(false);
  return (
    <Card data-testid="dataset-report" component="section" aria-label={`Data set ${report.name}`}>
      <Group justify="space-between" wrap="wrap">
        <div>
          <Text fw={600} className="data-name">
            {report.name}
          </Text>
          <Facts report={report} kept={kept} />
        </div>
        <Group gap="xs">
          <Button
            variant="subtle"
            color={asked ? 'red' : 'gray'}
            data-testid="delete-data"
            onBlur={() => setAsked(false)}
            onClick={() => (asked ? commands.deleteData(report.name) : setAsked(true))}
          >
            {asked ? 'Delete for good' : 'Delete'}
          </Button>
          <Button
            data-testid="train-on-file"
            variant="light"
            disabled={busy || (report.completions ?? report.kept) === 0}
            onClick={() => {
              go('live');
              commands.start(fileRecipe(report.name), { backend, store: true });
            }}
          >
            Train on this file
          </Button>
        </Group>
      </Group>
      {report.sample && (
        <Stack gap={4} mt="sm">
          <Text size="xs" c="dimmed">
            First row: the prompt is shown to the model, the rest is trained
          </Text>
          {report.sample.prompt !== '' && (
            <Code block className="data-sample">
              {report.sample.prompt}
            </Code>
          )}
          <Code block className="data-sample data-trained">
            {report.sample.completion}
          </Code>
        </Stack>
      )}
      {(report.notes ?? []).map((note) => (
        <Text key={note} size="xs" c="dimmed" mt={4}>
          {note}
        </Text>
      ))}
      <Group gap="xs" mt={6}>
        <RowBrowser name={report.name} />
      </Group>
      {choice ? (
        <Reading report={report} choice={choice} />
      ) : (
        (report.issueCount > 0 || (report.columns?.length ?? 0) > 0) && (
          <Text size="xs" c="dimmed" mt={4}>
            Of an earlier visit. Drop the file again to read it in another way.
          </Text>
        )
      )}
      <IssueTable report={report} />
    </Card>
  );
}
