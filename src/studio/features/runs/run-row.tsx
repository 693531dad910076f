/** One run of the list: what it is, how far it came, how well it did, and what can be done with it. */
import { ActionIcon, Badge, Button, Checkbox, Group, Menu, Table, Text, UnstyledButton } from '@mantine/core';
import { useState } from 'react';
import type { ListedRun } from '../../../worker/protocol.ts';
import { formatAge, formatDuration, formatTick } from '../../store/format.ts';
import { go } from '../../store/route.ts';
import { placeOf } from '../../store/saved-place.ts';
import { commands, useStudio } from '../../store/studio-store.ts';
import { Icon } from '../../ui/icon.tsx';
import { shareRecipe } from '../../ui/share-recipe.ts';
import { DescribeRun } from './describe-run.tsx';
import { saveBundle, takeRecipeOf } from './run-actions.ts';

const COLOURS = { finished: 'teal', unfinished: 'yellow', failed: 'red', going: 'blue' } as const;

function standOf({ going, state }: ListedRun): { text: string; color: string } {
  if (going === 'here') return { text: 'goes now', color: COLOURS.going };
  if (going === 'elsewhere') return { text: 'goes in another tab', color: COLOURS.going };
  return { text: state, color: COLOURS[state] };
}

interface RowMenuProps {
  run: ListedRun;
  describe(): void;
}

function RowMenu({ run, describe }: RowMenuProps) {
  const [sure, setSure] = useState(false);
  const going = run.going !== null;
  return (
    <Menu position="bottom-end" onClose={() => setSure(false)}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`More for ${run.name}`}>
          ⋯
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={describe}>Name and notes…</Menu.Item>
        <Menu.Item onClick={() => takeRecipeOf(run)}>Start again from its recipe</Menu.Item>
        <Menu.Item onClick={() => void shareRecipe(run.recipe)}>Copy a link to its recipe</Menu.Item>
        <Menu.Divider />
        <Menu.Item onClick={() => void saveBundle(run, true)}>Save as a bundle</Menu.Item>
        <Menu.Item onClick={() => void saveBundle(run, false)}>Save as a bundle without rollouts</Menu.Item>
        <Menu.Divider />
        <Menu.Item
          color="red"
          disabled={going}
          closeMenuOnClick={sure}
          leftSection={<Icon name="trash" size={14} />}
          onClick={() => (sure ? commands.deleteRun(run.id) : setSure(true))}
        >
          {sure ? 'Delete for good' : 'Delete…'}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/** "hard 0.812": the last held-out scores, hardest set last as recipes list them. */
function Scores({ scores }: { scores: ListedRun['scores'] }) {
  const entries = Object.entries(scores);
  if (entries.length === 0) return <Text c="dimmed">–</Text>;
  return (
    <dl className="run-scores">
      {entries.map(([set, score]) => (
        <div key={set}>
          <dt title={set}>{set}</dt>
          <dd>{score.toFixed(3)}</dd>
        </div>
      ))}
    </dl>
  );
}

export interface RunRowProps {
  run: ListedRun;
  /** The page shows it now. */
  shown: boolean;
  chosen: boolean;
  choose(on: boolean): void;
}

export function RunRow({ run, shown, chosen, choose }: RunRowProps) {
  const busy = useStudio((state) => ['running', 'paused', 'loading'].includes(state.run));
  const backend = useStudio((state) => state.compute);
  const [describing, setDescribing] = useState(false);
  const stand = standOf(run);
  const canGoOn = run.saved !== null && run.state !== 'finished' && run.going === null;
  const open = () => {
    if (run.going !== 'here') commands.openRun(run.id);
    go('live');
  };
  return (
    <Table.Tr data-testid={`run-${run.id}`} aria-current={shown || undefined}>
      <Table.Td>
        <Checkbox
          aria-label={`Compare ${run.name}`}
          checked={chosen}
          onChange={(event) => choose(event.currentTarget.checked)}
        />
      </Table.Td>
      <Table.Td>
        <Group gap={8} wrap="nowrap" align="baseline">
          <UnstyledButton
            className="run-name"
            onClick={open}
            // While a run goes the page shows it.
            disabled={busy && run.going !== 'here'}
            title={
              busy && run.going !== 'here' ? 'Stop the run that goes now to look at this one' : undefined
            }
          >
            {run.name}
          </UnstyledButton>
          <Badge variant="light" size="sm" tt="none" color={stand.color} className="run-state">
            {stand.text}
          </Badge>
        </Group>
        <Text size="xs" c="dimmed">
          {formatAge(Date.now() - run.created)} · seed {run.recipe.seed} · {formatTick(run.parameters)}{' '}
          parameters · {run.device}
          {run.scale !== 1 && ` · scale ${run.scale}×`}
        </Text>
        {run.notes !== '' && (
          <Text size="xs" mt={2} className="run-notes">
            {run.notes}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Text size="sm" c={run.saved ? undefined : 'dimmed'}>
          {placeOf(run)}
        </Text>
        {run.saved && (
          <Text size="xs" c="dimmed">
            {formatAge(Date.now() - run.saved.at)}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Scores scores={run.scores} />
      </Table.Td>
      <Table.Td>
        <Text size="sm">{formatDuration(run.elapsedSeconds)}</Text>
        <Text size="xs" c="dimmed">
          {formatTick(Math.round(run.tokens))} tokens
        </Text>
      </Table.Td>
      <Table.Td>
        <Group gap={4} justify="flex-end" wrap="nowrap">
          {canGoOn && (
            <Button
              size="compact-sm"
              variant="light"
              disabled={busy}
              data-testid={`go-on-${run.id}`}
              onClick={() => {
                go('live');
                commands.resumeRun(run.id, backend);
              }}
            >
              Go on
            </Button>
          )}
          <RowMenu run={run} describe={() => setDescribing(true)} />
        </Group>
        {describing && <DescribeRun run={run} close={() => setDescribing(false)} />}
      </Table.Td>
    </Table.Tr>
  );
}
