/** The Ask screen: a question, the ways of asking it, and what each of them answers. */
import { Stack } from '@mantine/core';
import { useEffect } from 'react';
import { useAsking } from '../../store/asking.ts';
import { commands } from '../../store/studio-store.ts';
import { AnswerColumn } from './answer-column.tsx';
import { AskForm } from './ask-form.tsx';
import { Prompts } from './prompts.tsx';
import './ask.css';

export function AskPanel() {
  const columns = useAsking((state) => state.columns);
  const gold = useAsking((state) => state.askedGold);
  const going = useAsking((state) => state.going);
  const started = useAsking((state) => state.started);
  useEffect(() => {
    commands.listRuns();
  }, []);
  const next = columns.findIndex(({ result }) => result === null);
  return (
    <Stack gap="md">
      <AskForm />
      {columns.length > 0 && (
        <div className="ask-columns" data-testid="ask-columns">
          {columns.map((column, i) => (
            <AnswerColumn
              key={column.mode.kind}
              column={column}
              gold={gold}
              waiting={going ? (i === next ? 'writing' : 'later') : 'stopped'}
            />
          ))}
        </div>
      )}
      {started && <Prompts started={started} />}
    </Stack>
  );
}
