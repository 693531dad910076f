/** What a first visit says: what this is, what Start does, what to look for. */
import { Card, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import type { RolloutTree } from '../../../worker/protocol.ts';
import { TreeView } from '../../ui/tree-view.tsx';

const STEPS = [
  [
    '1 · Base',
    'A decoder of 235,488 parameters learns to add and subtract modulo 31, step by step, from a noisy teacher.',
  ],
  [
    '2 · SFT cold start',
    'It is shown trajectories that fork into two paths and join again, on easy problems.',
  ],
  ['3 · GRPO, easy', 'It samples its own trees and is rewarded for answers that are right and parallel.'],
  [
    '4 · GRPO, hard',
    'Only right answers pay. Watch the fork move: from exploring at the start to verifying at the end.',
  ],
] as const;

const stretch = (kind: 'trunk' | 'path' | 'summary', text: string, path = 0) => ({
  kind,
  block: kind === 'trunk' ? 0 : 1,
  path,
  text,
  tokens: 0,
  open: false,
});

/** A late fork, as the trained model writes it for +20+30-11. */
const EXAMPLE: RolloutTree = {
  segments: [
    stretch('trunk', '+20=20+30=19-11=8'),
    stretch('path', '+20=20+30=19-11=8', 1),
    stretch('path', '+20=20+30=23-11=12', 2),
    stretch('summary', '8,8,12>8'),
    stretch('trunk', 'Final Answer:8'),
  ],
  blocks: [{ paths: ['+20=20+30=19-11=8', '+20=20+30=23-11=12'], summary: '8,8,12>8' }],
};

export function Welcome() {
  return (
    <Card p={{ base: 'md', sm: 'xl' }}>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="xl">
        <Stack gap="md">
          <Title order={2}>Watch a small model learn to think in parallel</Title>
          <Text>
            Press <b>Start</b>. Everything happens in this page, on your own machine: the model, its data and
            the training. Nothing is sent anywhere.
          </Text>
          <Stack gap="xs">
            {STEPS.map(([title, text]) => (
              <div key={title}>
                <Text fw={600} size="sm">
                  {title}
                </Text>
                <Text size="sm" c="dimmed">
                  {text}
                </Text>
              </div>
            ))}
          </Stack>
        </Stack>
        <Stack gap="xs" justify="center">
          <Text size="sm" c="dimmed" ta="center">
            What it will write for <code>+20+30-11</code>: a first solution, two checks, a vote
          </Text>
          <TreeView tree={EXAMPLE} label="Example of a tree of thought" />
        </Stack>
      </SimpleGrid>
    </Card>
  );
}
