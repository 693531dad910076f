/** The model that was loaded last: what it is, what was added to it, and training that starts from it. */
import { Badge, Button, Card, Group, List, Text } from '@mantine/core';
import type { ModelReport } from '../../../worker/protocol.ts';
import { formatBytes, formatCount } from '../../store/format.ts';
import { openRecipe } from '../../store/recipe-draft.ts';
import { modelRecipe } from '../../store/recipes.ts';
import { go } from '../../store/route.ts';
import { useStudio } from '../../store/studio-store.ts';

const FORMATS = { huggingface: 'Hugging Face', gguf: 'GGUF', llama2c: 'llama2.c' } as const;

function Facts({ model }: { model: ModelReport }) {
  const facts: [string, string][] = [
    ['Architecture', model.architecture],
    ['Parameters', formatCount(model.parameters)],
    ['Layers', String(model.layers)],
    ['Vocabulary', formatCount(model.vocabulary)],
    ['As stored', `${formatBytes(model.bytes)}, ${FORMATS[model.format]}`],
    ['Chat template', model.chatTemplate ? 'yes' : 'none'],
  ];
  return (
    <dl className="model-facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function ModelCard({ model }: { model: ModelReport }) {
  const dataset = useStudio((state) => state.datasets[0]?.report.name ?? null);
  const prepare = () => {
    openRecipe(`Fine-tune ${model.name}`, modelRecipe(model, dataset));
    go('recipe');
  };
  return (
    <Card component="section" aria-label={`Model ${model.name}`} data-testid="model-card">
      <Group justify="space-between" wrap="wrap" gap="sm">
        <Group gap="xs">
          <Text fw={600} className="model-name">
            {model.name}
          </Text>
          <Badge variant="light" tt="none" color={model.usable ? 'teal' : 'yellow'}>
            {model.usable ? 'loaded' : 'no tokenizer'}
          </Badge>
        </Group>
        <Button variant="light" disabled={!model.usable} onClick={prepare} data-testid="fine-tune">
          {dataset ? `Fine-tune on ${dataset}…` : 'Fine-tune on a built-in task…'}
        </Button>
      </Group>
      <Facts model={model} />
      {!model.usable && <Text size="sm">{model.message}</Text>}
      {model.tagsAdded.length > 0 && (
        <Text size="sm" mt="xs">
          Given the tokens it lacked, with rows of their own in embedding and head:{' '}
          {model.tagsAdded.map((tag) => (
            <code key={tag} className="model-tag">
              {tag}
            </code>
          ))}
        </Text>
      )}
      {model.notes.length > 0 && (
        <List size="sm" mt="xs" c="dimmed">
          {model.notes.map((note) => (
            <List.Item key={note}>{note}</List.Item>
          ))}
        </List>
      )}
    </Card>
  );
}
