import { expect, test } from 'vitest';
import { chatPrompt, chatTemplateOf } from './chat-template.ts';

// As that of SmolLM2 and Qwen, in short.
const CHATML =
  "{% for message in messages %}{{ bos_token if loop.first else '' }}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";
const question = [{ role: 'user', content: 'What is 2 + 2?' }] as const;

test('a question in the words of the template, without the beginning that the encoder puts', () => {
  expect(chatPrompt({ configJson: { chat_template: CHATML, bos_token: '<s>' } }, question)).toBe(
    '<|im_start|>user\nWhat is 2 + 2?<|im_end|>\n<|im_start|>assistant\n',
  );
});

test('special tokens are text or objects with it', () => {
  const configJson = {
    chat_template: '{{ messages[0].content }}{{ eos_token }}{{ pad_token }}{{ unk_token }}',
    eos_token: { content: '</s>' },
    pad_token: '<pad>',
    unk_token: null,
  };
  expect(chatPrompt({ configJson }, question)).toBe('What is 2 + 2?</s><pad>');
});

test('of several templates the default one, and none where there is none', () => {
  const named = [
    { name: 'tool_use', template: 'T' },
    { name: 'default', template: 'D' },
  ];
  expect(chatTemplateOf({ configJson: { chat_template: named } })).toBe('D');
  expect(chatTemplateOf({ configJson: { chat_template: named.slice(0, 1) } })).toBe('T');
  expect(chatPrompt({ configJson: {} }, question)).toBeNull();
  expect(chatPrompt({ configJson: null }, question)).toBeNull();
});

test('a template that refuses the messages, or is none, is named in a sentence', () => {
  for (const chat_template of ["{{ raise_exception('Roles must alternate') }}", '{% if %}'])
    expect(() => chatPrompt({ configJson: { chat_template } }, question)).toThrow(
      /chat template cannot be followed: .+ Correct "chat_template"/,
    );
});
