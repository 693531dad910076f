/** The Data screen: files, folders and addresses in; what was read, what was not and why; what runs can train on. */
import { Button, Card, FileButton, Group, Stack, Text, TextInput } from '@mantine/core';
import { useEffect, useState } from 'react';
import { commands, useStudio } from '../../store/studio-store.ts';
import { DataSetCard } from './data-set-card.tsx';
import { LoadingCard } from './loading-card.tsx';
import { RefusedCard } from './refused-card.tsx';
import './data-panel.css';

function AddressField() {
  const [url, setUrl] = useState('');
  return (
    <form
      className="data-address"
      onSubmit={(event) => {
        event.preventDefault();
        if (url.trim() === '') return;
        commands.loadDataUrl(url);
        setUrl('');
      }}
    >
      <TextInput
        data-testid="data-url"
        aria-label="Address of a data file"
        placeholder="https://… address of a data file"
        value={url}
        onChange={(event) => setUrl(event.currentTarget.value)}
      />
      <Button type="submit" variant="default" disabled={url.trim() === ''}>
        Fetch
      </Button>
    </form>
  );
}

export function DataPanel() {
  const datasets = useStudio((state) => state.datasets);
  const refused = useStudio((state) => state.refused);
  const loading = useStudio((state) => state.loading);
  const model = useStudio((state) => state.model);
  useEffect(() => commands.listData(), []);
  return (
    <Stack gap="md">
      <Card>
        <Group justify="space-between" wrap="wrap">
          <div className="data-intro">
            <Text fw={600}>Your own data</Text>
            <Text size="sm" c="dimmed">
              Drop files or folders anywhere on this page: jsonl, json, csv, tsv, parquet or txt, packed as gz
              or zip or not; or a model folder. Prompts and completions, chats, GSM8K, MATH, Alpaca, ShareGPT,
              preferences and verl are recognised. Nothing leaves this machine.
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
        <AddressField />
        {model && (
          <Text size="sm" mt="xs">
            {model.message}
          </Text>
        )}
      </Card>
      {loading.map((job) => (
        <LoadingCard key={job.job} job={job} />
      ))}
      {refused.map((file) => (
        <RefusedCard key={file.name} file={file} />
      ))}
      {datasets.map((data) => (
        <DataSetCard key={data.report.name} data={data} />
      ))}
      {datasets.length + refused.length + loading.length === 0 && (
        <Text c="dimmed" ta="center" py="xl">
          No data set yet. The built-in tasks need none.
        </Text>
      )}
    </Stack>
  );
}
