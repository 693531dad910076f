/** One way of asking: its answer, what it cost, how its voters voted, and its responses as trees. */
import { Badge, Card, Group, Progress, SegmentedControl, Text } from '@mantine/core';
import { useState } from 'react';
import type { AskResult, RolloutTree } from '../../../worker/protocol.ts';
import type { AskColumn } from '../../store/asking.ts';
import { formatCount } from '../../store/format.ts';
import { TreeView } from '../../ui/tree-view.tsx';
import { DECIDED, WAY_WORDS } from './words.ts';

const percent = (share: number): string => `${Math.round(100 * share)} %`;

function Answer({ result, gold }: { result: AskResult; gold: string | null }) {
  const { answer, correct } = result;
  return (
    <Group gap="xs" align="baseline" wrap="wrap">
      <Text className="ask-answer" data-testid="ask-answer">
        {answer ?? 'no answer'}
      </Text>
      {correct !== null && (
        <Badge tt="none" variant="light" color={correct ? 'teal' : 'red'}>
          {correct ? '✓ right' : `✗ it is ${gold}`}
        </Badge>
      )}
    </Group>
  );
}

function Cost({ tokens }: { tokens: { total: number; critical: number; saved?: number } }) {
  const facts: [string, string][] = [
    ['tokens', formatCount(tokens.total)],
    ['waited for', formatCount(tokens.critical)],
    ...(tokens.saved !== undefined
      ? ([['at the same time', percent(tokens.saved)]] as [string, string][])
      : []),
  ];
  return (
    <dl className="ask-cost">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Bars, the most frequent answer first. */
function Votes({ votes, of }: { votes: AskResult['votes']; of: number }) {
  return (
    <ul className="ask-votes" aria-label="Votes">
      {votes.map(({ answer, count }) => (
        <li key={answer}>
          <span className="ask-vote-answer">{answer}</span>
          <Progress
            value={(100 * count) / Math.max(1, of)}
            size="sm"
            aria-label={`${count} of ${of} for ${answer}`}
          />
          <span className="ask-vote-count">{count}</span>
        </li>
      ))}
    </ul>
  );
}

/** Several responses are looked at one at a time. */
function Responses({ trees, title }: { trees: readonly RolloutTree[]; title: string }) {
  const [chosen, setChosen] = useState('0');
  if (trees.length === 0) return null;
  const index = Math.min(Number(chosen), trees.length - 1);
  return (
    <div className="ask-responses">
      {trees.length > 1 && (
        <div className="ask-which">
          <SegmentedControl
            size="xs"
            aria-label={`Response of ${title}`}
            data={trees.map((_, i) => ({ value: String(i), label: String(i + 1) }))}
            value={String(index)}
            onChange={setChosen}
          />
        </div>
      )}
      <div className="ask-tree">
        <TreeView tree={trees[index]} label={`Response ${index + 1} of ${title}`} />
      </div>
    </div>
  );
}

interface AnswerColumnProps {
  column: AskColumn;
  gold: string | null;
  waiting: 'writing' | 'later' | 'stopped';
}

const WAITING = { writing: 'is being written…', later: 'comes next', stopped: 'was stopped' } as const;

export function AnswerColumn({ column: { mode, view, result }, gold, waiting }: AnswerColumnProps) {
  const { title, help } = WAY_WORDS[mode.kind];
  const trees = result ? result.responses.map(({ tree }) => tree) : (view?.trees ?? []);
  const votes = result?.votes ?? view?.votes ?? [];
  const voters = result
    ? mode.kind === 'vote' || mode.kind === 'consensus'
      ? result.responses.filter(({ ended }) => ended !== 'stopped').length
      : votes.reduce((sum, { count }) => sum + count, 0)
    : votes.reduce((sum, { count }) => sum + count, 0);
  const [first] = result?.responses ?? [];
  return (
    <Card component="section" aria-label={title} data-testid={`answer-${mode.kind}`}>
      <Text fw={600}>{title}</Text>
      <Text size="xs" c="dimmed" mb="xs">
        {mode.kind === 'vote' && result
          ? `self-consistency: ${result.responses.length} responses vote`
          : help}
      </Text>
      <div aria-live="polite">
        {result ? <Answer result={result} gold={gold} /> : <Text c="dimmed">{WAITING[waiting]}</Text>}
      </div>
      {result && (
        <Text size="xs" c="dimmed">
          {DECIDED[result.decidedBy]}
          {result.agreement !== null && ` · agreement ${percent(result.agreement)}`}
          {result.responses.length === 1 &&
            first.confidence &&
            ` · confidence ${percent(first.confidence.mean)}`}
        </Text>
      )}
      {(result ?? view) && <Cost tokens={(result ?? view)!.tokens} />}
      {votes.length > 0 && <Votes votes={votes} of={voters} />}
      <Responses trees={trees} title={title} />
    </Card>
  );
}
