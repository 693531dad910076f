/** What the model was really asked. */
import { Code, Text } from '@mantine/core';
import type { Asking } from '../../store/asking.ts';

export function Prompts({ started }: { started: NonNullable<Asking['started']> }) {
  const { prompts, task, maxTokens, temperature } = started;
  return (
    <details className="ask-prompts">
      <summary>What the model was asked</summary>
      <Text size="sm" c="dimmed" mt="xs">
        {task ? `Answers are read as those of the task “${task}”` : 'Answers are read from free text'}, of at
        most {maxTokens} tokens, at temperature {temperature}.
      </Text>
      <Text size="xs" c="dimmed" mt="xs">
        Without forks
      </Text>
      <Code block>{prompts.plain}</Code>
      <Text size="xs" c="dimmed" mt="xs">
        For parallel thinking
      </Text>
      <Code block>{prompts.parallel}</Code>
    </details>
  );
}
