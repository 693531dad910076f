/** Models in: from the Hub by name, or from files and folders of this machine. */
import { Button, Card, FileButton, Group, PasswordInput, Text, TextInput } from '@mantine/core';
import { useRef, useState } from 'react';
import { commands, useStudio } from '../../store/studio-store.ts';
import { Icon } from '../../ui/icon.tsx';

function HubForm({ busy }: { busy: boolean }) {
  const [name, setName] = useState('');
  const [token, setToken] = useState('');
  const [guarded, setGuarded] = useState(false);
  return (
    <form
      className="model-hub"
      onSubmit={(event) => {
        event.preventDefault();
        if (name.trim() !== '') commands.hubModel(name, guarded ? token : undefined);
      }}
    >
      <TextInput
        data-testid="hub-name"
        label="From the Hugging Face Hub"
        description="Downloaded once, then kept in this browser; llama, qwen2 and qwen3, as safetensors."
        placeholder="owner/name, e.g. HuggingFaceTB/SmolLM2-135M-Instruct"
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        className="model-hub-name"
      />
      {guarded && (
        <PasswordInput
          label="Access token"
          description="For gated and private models. It stays in memory only."
          value={token}
          autoComplete="off"
          onChange={(event) => setToken(event.currentTarget.value)}
        />
      )}
      <Group gap="xs">
        <Button
          type="submit"
          disabled={busy || name.trim() === ''}
          leftSection={<Icon name="download" size={14} />}
        >
          Download
        </Button>
        <Button
          variant="subtle"
          size="compact-sm"
          aria-expanded={guarded}
          onClick={() => setGuarded(!guarded)}
        >
          {guarded ? 'Without a token' : 'With a token…'}
        </Button>
      </Group>
    </form>
  );
}

/** A folder comes with the paths of its files, which say what belongs together. */
function FolderButton({ busy }: { busy: boolean }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={(element) => {
          input.current = element;
          // React knows no such attribute.
          element?.setAttribute('webkitdirectory', '');
        }}
        type="file"
        hidden
        aria-label="Model folder"
        data-testid="model-folder"
        onChange={({ currentTarget }) => {
          const files = [...(currentTarget.files ?? [])];
          if (files.length > 0) commands.drop(files);
          currentTarget.value = '';
        }}
      />
      <Button variant="default" disabled={busy} onClick={() => input.current?.click()}>
        Choose a folder…
      </Button>
    </>
  );
}

export function LoadModel() {
  const busy = useStudio((state) => state.modelProgress !== null);
  return (
    <Card component="section" aria-label="Load a model">
      <HubForm busy={busy} />
      <Group gap="sm" mt="lg" justify="space-between" wrap="wrap">
        <div className="model-files">
          <Text size="sm" fw={500}>
            From this machine
          </Text>
          <Text size="xs" c="dimmed">
            Drop it anywhere on this page: a Hugging Face folder (sharded or not, F32, F16 or BF16), a GGUF
            file (F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q4_K, Q6_K), or llama2.c’s .bin with its tokenizer.
          </Text>
        </div>
        <Group gap="xs">
          <FileButton
            multiple
            onChange={(files) => files.length > 0 && commands.drop(files)}
            inputProps={{ 'data-testid': 'model-files', 'aria-label': 'Model files' } as object}
          >
            {(props) => (
              <Button {...props} variant="default" disabled={busy}>
                Choose files…
              </Button>
            )}
          </FileButton>
          <FolderButton busy={busy} />
        </Group>
      </Group>
    </Card>
  );
}
