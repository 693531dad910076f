/**
 * A writer behind an OpenAI-compatible chat-completions endpoint (`POST <base>/chat/completions`, as served by vLLM,
 * llama.cpp, Ollama, LM Studio and the large providers). Only what the person entered is asked, and the key goes nowhere
 * but into the request's header.
 */
import { messageOf, UserError } from '../../../base/assert.ts';
import { generationPrompt } from './prompt.ts';
import { type Generation, RequestFailed, type Writer } from './sources.ts';

export interface EndpointOptions {
  /** Base address, e.g. http://localhost:8000/v1; with or without /chat/completions. */
  url: string;
  model: string;
  /** Access key, if the server wants one. Kept in memory only, and never part of a message or a state. */
  key?: string;
  fetch: typeof fetch;
  /** Requests at the same time; 4. */
  concurrency?: number;
  /** Most tokens of a reply; 4096. */
  maxTokens?: number;
  temperature?: number;
  /** Further tries of a request that failed; 5. */
  retries?: number;
  /** Most time for one reply, in milliseconds; five minutes. */
  timeoutMs?: number;
  /** What is asked; the paper's detailed prompt. */
  prompt?(question: string): string;
  /** Waits; a test's own returns at once. */
  sleep?(milliseconds: number, signal?: AbortSignal): Promise<void>;
  now?(): number;
}

const LONGEST_WAIT = 60_000;
const LONGEST_SHOWN = 200;

/** A failure after which the same request may succeed. */
interface Hiccup {
  why: string;
  /** The server's Retry-After, or null. */
  after: string | null;
}

/** The address that requests go to. */
export function completionsAddress(url: string): string {
  const trimmed = url.trim().replace(/\/+$/, '');
  if (!URL.canParse(trimmed) || !/^https?:$/.test(new URL(trimmed).protocol))
    throw new UserError(
      `${JSON.stringify(url)} is no address of an endpoint. Write it as http://localhost:8000/v1 or https://….`,
    );
  return trimmed.endsWith('/chat/completions') ? trimmed : `${trimmed}/chat/completions`;
}

/** @throws UserError at once if the address is none */
export function endpointWriter(options: EndpointOptions): Writer {
  const { model, concurrency = 4, retries = 5, prompt = generationPrompt } = options;
  const address = completionsAddress(options.url);
  const { host } = new URL(address);
  /** Whether the server has ever answered a page: until then, silence is a matter of address or CORS. */
  let reached = false;

  async function write(question: string, signal?: AbortSignal): Promise<Generation> {
    for (let failures = 0; ; failures++) {
      signal?.throwIfAborted();
      const result = await ask(prompt(question), signal);
      if ('text' in result) return result;
      if (failures >= retries) {
        const message = `${host} ${result.why}, ${failures + 1} times in a row.`;
        if (reached) throw new RequestFailed(message);
        throw new UserError(
          `${message} Is the server running, and is the address right? A page also gets no answer from a server that does not allow its origin (CORS): start it with that allowed, e.g. vllm serve --allowed-origins '["*"]' or OLLAMA_ORIGINS=*.`,
        );
      }
      await (options.sleep ?? sleep)(waitFor(failures, result.after, options.now ?? Date.now), signal);
    }
  }

  async function ask(content: string, signal?: AbortSignal): Promise<Generation | Hiccup> {
    const { timeoutMs = 300_000, maxTokens = 4096, temperature = 1, key } = options;
    // The time limit holds for the reply's whole text: a server may send its head and then nothing.
    const limit = AbortSignal.timeout(timeoutMs);
    // Called as a plain function: a browser's fetch must not have another `this`.
    const post = options.fetch;
    try {
      const response = await post(address, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) },
        body: JSON.stringify({
          model,
          messages: [{ role: 'user', content }],
          max_tokens: maxTokens,
          temperature,
        }),
        signal: signal ? AbortSignal.any([signal, limit]) : limit,
      });
      reached = true;
      const body = await response.text();
      return response.ok ? read(body) : refused(response, body);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (error instanceof UserError || error instanceof RequestFailed) throw error;
      const why = limit.aborted
        ? `gave no whole reply within ${timeoutMs / 1000} s`
        : `could not be reached or cut the connection (${told(messageOf(error))})`;
      return { why, after: null };
    }
  }

  function refused(response: Response, body: string): Hiccup {
    const { status } = response;
    const said = told(errorText(body));
    if (status === 401 || status === 403)
      throw new UserError(
        `${host} refuses ${options.key ? 'the key that you entered' : 'requests without a key'} (status ${status}${said && `: ${said}`}). Enter a key that may use ${model}; it is kept in memory only.`,
      );
    if (status === 404)
      throw new UserError(
        `${host} knows no ${address} or no model "${model}" (status 404${said && `: ${said}`}). Check both; the address usually ends in /v1.`,
      );
    const why =
      status === 429
        ? 'asks to wait (too many requests)'
        : `is in trouble (status ${status}${said && `: ${said}`})`;
    if (status === 408 || status === 429 || status >= 500)
      return { why, after: response.headers.get('retry-after') };
    throw new RequestFailed(`${host} refused the request (status ${status}${said && `: ${said}`}).`);
  }

  /** Enough of what a server said, without the key that some repeat. */
  function told(text: string): string {
    const { key } = options;
    const safe = key ? text.replaceAll(key, '[key]') : text;
    return safe.length > LONGEST_SHOWN ? `${safe.slice(0, LONGEST_SHOWN)}…` : safe;
  }

  return {
    name: `${model} at ${address}`,
    concurrency,
    write: (problem, _index, _attempt, signal) => write(problem.prompt, signal),
  };
}

/** The reply of a chat completion. */
function read(body: string): Generation | Hiccup {
  let json: {
    choices?: { message?: { content?: unknown }; finish_reason?: unknown }[];
    usage?: { prompt_tokens?: unknown; completion_tokens?: unknown };
  };
  try {
    json = JSON.parse(body);
  } catch {
    return { why: 'sent a reply that is not JSON', after: null };
  }
  const choice = Array.isArray(json?.choices) ? json.choices[0] : undefined;
  if (!choice?.message) return { why: 'sent a reply without a choice', after: null };
  const { content } = choice.message;
  const prompt = json.usage?.prompt_tokens;
  const completion = json.usage?.completion_tokens;
  return {
    // Models that think first and whose server does not separate it: the thoughts are no part of the solution.
    text: typeof content === 'string' ? content.replace(/^\s*<think>[\s\S]*?<\/think>/, '') : '',
    truncated: choice.finish_reason === 'length',
    tokens: typeof prompt === 'number' && typeof completion === 'number' ? { prompt, completion } : null,
  };
}

/** `{error: {message}}`, `{message}`, `{detail}` or the text itself. */
function errorText(body: string): string {
  try {
    const { error, message, detail } = JSON.parse(body);
    const said = error?.message ?? error ?? message ?? detail;
    return typeof said === 'string' ? said : '';
  } catch {
    return body.trim().startsWith('<') ? '' : body.trim();
  }
}

/**
 * As long as the server asks (seconds or a date), else one second, two, four …, and never more than a minute. A page sees
 * the header only where the server exposes it to other origins.
 */
export function waitFor(failures: number, retryAfter: string | null, now: () => number): number {
  const text = retryAfter?.trim() ?? '';
  const asked = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now();
  const time = Number.isFinite(asked) ? Math.max(0, asked) : 1000 * 2 ** failures;
  return Math.min(time, LONGEST_WAIT);
}

function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
