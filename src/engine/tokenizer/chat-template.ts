/**
 * Chat templates: how a model that was taught conversations is asked (Hugging Face "Chat templates", Jinja in
 * `tokenizer_config.json`). Text in, text out; the caller encodes it.
 */
import { Template } from '@huggingface/jinja';
import { messageOf, UserError } from '../../base/assert.ts';
import type { Tokenizer } from './tokenizer.ts';

export interface ChatMessage {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

/** A token in `tokenizer_config.json`: its text, or an object with it. */
const tokenText = (value: unknown): string => {
  if (typeof value === 'string') return value;
  const content = (value as { content?: unknown } | null | undefined)?.content;
  return typeof content === 'string' ? content : '';
};

/** The template that a tokenizer carries, or null. Of several by name, `default`. */
export function chatTemplateOf({ configJson }: Pick<Tokenizer, 'configJson'>): string | null {
  const template = (configJson as { chat_template?: unknown } | null)?.chat_template;
  if (typeof template === 'string') return template;
  if (!Array.isArray(template)) return null;
  const named = template as { name?: unknown; template?: unknown }[];
  const chosen = named.find(({ name }) => name === 'default') ?? named[0];
  return typeof chosen?.template === 'string' ? chosen.template : null;
}

/**
 * The text that asks for the next answer of a conversation, or null where the model has no template. The
 * beginning-of-text token is left out: whoever encodes puts it.
 *
 * @throws UserError where the template cannot be followed
 */
export function chatPrompt(
  tokenizer: Pick<Tokenizer, 'configJson'>,
  messages: readonly ChatMessage[],
): string | null {
  const template = chatTemplateOf(tokenizer);
  if (template === null) return null;
  const { eos_token, pad_token, unk_token } = tokenizer.configJson as Record<string, unknown>;
  try {
    return new Template(template).render({
      messages: messages.map((message) => ({ ...message })),
      add_generation_prompt: true,
      bos_token: '',
      eos_token: tokenText(eos_token),
      pad_token: tokenText(pad_token),
      unk_token: tokenText(unk_token),
    });
  } catch (error) {
    throw new UserError(
      `The model’s chat template cannot be followed: ${messageOf(error)}. Correct "chat_template" in its tokenizer_config.json, or remove it to ask in plain text.`,
    );
  }
}
