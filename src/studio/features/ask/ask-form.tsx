/** Which model is asked, what, and in which ways. */
import {
  Button,
  Card,
  Checkbox,
  Chip,
  Group,
  NumberInput,
  Select,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { ASK_KNOBS, type AskModel } from '../../../worker/protocol.ts';
import { askNow, change, drawQuestion, SHIPPED, useAsking, WAYS, type Way } from '../../store/asking.ts';
import { commands, useStudio } from '../../store/studio-store.ts';
import { WAY_WORDS } from './words.ts';

const idOf = (model: AskModel): string =>
  model.from === 'checkpoint' ? `${model.id} ${model.stage}` : model.from;

interface Choice {
  model: AskModel;
  label: string;
}

/** Models at hand: that of the run, the loaded one, the checkpoints, and the one that came with the page. */
function useChoices(): { group: string; choices: Choice[] }[] {
  const kept = useStudio((state) => state.kept);
  const loaded = useStudio((state) => state.model);
  const recipe = useStudio((state) => state.recipe?.name ?? '');
  const hasRun = useStudio((state) => state.run !== 'idle' && state.parameters > 0 && state.shown === null);
  const now: Choice[] = [
    ...(hasRun ? [{ model: { from: 'run' } as const, label: `The run: ${recipe}` }] : []),
    ...(loaded?.usable ? [{ model: { from: 'loaded' } as const, label: `Loaded: ${loaded.name}` }] : []),
    { model: SHIPPED, label: 'Shipped: arithmetic, before any parallel training' },
  ];
  const checkpoints = (kept ?? []).flatMap(({ id, name, recipe: { stages }, checkpoints: all }) =>
    stages
      .filter((stage) => all.includes(stage.name))
      .map((stage) => ({
        model: { from: 'checkpoint', id, stage: stage.name } as const,
        label: `${name} · ${stage.name}`,
      })),
  );
  return [
    { group: 'At hand', choices: now },
    ...(checkpoints.length > 0 ? [{ group: 'Checkpoints', choices: checkpoints }] : []),
  ];
}

function ModelSelect({ disabled }: { disabled: boolean }) {
  const model = useAsking((state) => state.model);
  const groups = useChoices();
  const all = groups.flatMap(({ choices }) => choices);
  return (
    <Select
      label="Model"
      data-testid="ask-model"
      data={groups.map(({ group, choices }) => ({
        group,
        items: choices.map((one) => ({ value: idOf(one.model), label: one.label })),
      }))}
      value={idOf(model)}
      onChange={(value) => {
        const chosen = all.find((one) => idOf(one.model) === value);
        if (chosen) change({ model: chosen.model });
      }}
      allowDeselect={false}
      disabled={disabled}
      className="ask-model"
    />
  );
}

function Ways({ disabled }: { disabled: boolean }) {
  const ways = useAsking((state) => state.ways);
  return (
    <div>
      <Text size="sm" fw={500} mb={4} id="ask-ways">
        Ways of asking
      </Text>
      <Chip.Group multiple value={[...ways]} onChange={(value) => change({ ways: value as Way[] })}>
        <Group gap={6} role="group" aria-labelledby="ask-ways">
          {WAYS.map((way) => (
            <Chip
              key={way}
              value={way}
              size="sm"
              disabled={disabled}
              variant="light"
              data-testid={`way-${way}`}
            >
              {WAY_WORDS[way].title}
            </Chip>
          ))}
        </Group>
      </Chip.Group>
    </div>
  );
}

/** An empty field is null: as the model was trained. */
const numberOrNull = (value: string | number): number | null => (typeof value === 'number' ? value : null);

function Settings({ disabled }: { disabled: boolean }) {
  const { votes, paths, temperature, maxTokens, equalTokens, seed, ways } = useAsking();
  const votesAreEqual = equalTokens && ways.includes('parallel') && ways.includes('sequential');
  return (
    <Group gap="sm" align="flex-end" wrap="wrap">
      <NumberInput
        label={ASK_KNOBS.paths.label}
        placeholder="as trained"
        value={paths ?? ''}
        onChange={(value) => change({ paths: numberOrNull(value) })}
        min={ASK_KNOBS.paths.min}
        max={ASK_KNOBS.paths.max}
        allowDecimal={false}
        disabled={disabled}
        w={110}
      />
      <NumberInput
        label={ASK_KNOBS.votes.label}
        value={votes}
        onChange={(value) => typeof value === 'number' && change({ votes: value })}
        min={ASK_KNOBS.votes.min}
        max={ASK_KNOBS.votes.max}
        allowDecimal={false}
        disabled={disabled}
        w={90}
      />
      <NumberInput
        label="Temperature"
        placeholder="as trained"
        value={temperature ?? ''}
        onChange={(value) => change({ temperature: numberOrNull(value) })}
        min={0}
        max={5}
        step={0.1}
        decimalScale={2}
        disabled={disabled}
        w={120}
      />
      <NumberInput
        label="Longest answer"
        placeholder="as trained"
        suffix=" tokens"
        value={maxTokens ?? ''}
        onChange={(value) => change({ maxTokens: numberOrNull(value) })}
        min={4}
        max={8192}
        allowDecimal={false}
        disabled={disabled}
        w={140}
      />
      <NumberInput
        label="Seed"
        value={seed}
        onChange={(value) => typeof value === 'number' && change({ seed: value })}
        min={0}
        max={2 ** 31}
        allowDecimal={false}
        disabled={disabled}
        w={90}
      />
      <Checkbox
        label="Vote at equal tokens"
        description={
          votesAreEqual
            ? 'as many votes as the parallel answer’s tokens buy'
            : 'needs Alone and Parallel beside it; else the votes above'
        }
        checked={equalTokens}
        onChange={(event) => change({ equalTokens: event.currentTarget.checked })}
        disabled={disabled}
      />
    </Group>
  );
}

export function AskForm() {
  const { question, gold, going, ways } = useAsking();
  const run = useStudio((state) => state.run);
  return (
    <Card component="section" aria-label="Ask a question">
      <form
        className="ask-form"
        onSubmit={(event) => {
          event.preventDefault();
          askNow();
        }}
      >
        <ModelSelect disabled={going} />
        <Group gap="sm" align="flex-start" wrap="wrap">
          <Textarea
            label="Question"
            data-testid="question"
            placeholder="+8+23-5"
            autosize
            minRows={1}
            maxRows={8}
            value={question}
            onChange={(event) => change({ question: event.currentTarget.value })}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
              event.preventDefault();
              if (!going && question.trim() !== '') askNow();
            }}
            disabled={going}
            className="ask-question"
          />
          <TextInput
            label="Right answer, if you know it"
            data-testid="gold"
            value={gold}
            onChange={(event) => change({ gold: event.currentTarget.value })}
            disabled={going}
            w={240}
          />
        </Group>
        <Ways disabled={going} />
        <details className="ask-more">
          <summary>Settings</summary>
          <Settings disabled={going} />
        </details>
        <Group gap="xs">
          {going ? (
            <Button key="stop" variant="default" onClick={commands.stopAsking} data-testid="stop-asking">
              Stop
            </Button>
          ) : (
            <Button
              key="ask"
              type="submit"
              data-testid="ask"
              disabled={question.trim() === '' || ways.length === 0}
            >
              Ask
            </Button>
          )}
          <Button variant="subtle" onClick={drawQuestion} disabled={going} data-testid="draw-question">
            Draw a problem
          </Button>
          {going && run === 'running' && (
            <Text size="sm" c="dimmed">
              The run waits at the end of its step until the answers are there.
            </Text>
          )}
        </Group>
      </form>
    </Card>
  );
}
