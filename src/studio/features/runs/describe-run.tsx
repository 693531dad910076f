/** Name and notes of a run, in a dialog. */
import { Button, Group, Modal, Stack, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { ListedRun } from '../../../worker/protocol.ts';
import { commands } from '../../store/studio-store.ts';

export function DescribeRun({ run, close }: { run: ListedRun; close(): void }) {
  const [name, setName] = useState(run.name);
  const [notes, setNotes] = useState(run.notes);
  const missing = name.trim() === '';
  return (
    <Modal opened onClose={close} title="Name and notes">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (missing) return;
          commands.describeRun(run.id, { name: name.trim(), notes: notes.trim() });
          close();
        }}
      >
        <Stack gap="sm">
          <TextInput
            label="Name"
            value={name}
            error={missing ? 'A run needs a name.' : null}
            onChange={(event) => setName(event.currentTarget.value)}
            data-autofocus
          />
          <Textarea
            label="Notes"
            value={notes}
            autosize
            minRows={3}
            maxRows={12}
            onChange={(event) => setNotes(event.currentTarget.value)}
          />
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" disabled={missing}>
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
