/** For tests: a chat-completions server on this machine that misbehaves as it is told. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ChatServer {
  url: string;
  /** What was asked so far, in order: the user's text, the whole request body and its authorization. */
  requests: { content: string; body: Record<string, unknown>; authorization: string | undefined }[];
  /** Answers request `count` (0-based) of this text itself and returns true, or leaves it to the server. */
  misbehave:
    | ((response: ServerResponse, content: string, count: number, request: IncomingMessage) => boolean)
    | null;
  /** What is written for a problem. */
  reply(content: string): string;
  close(): Promise<void>;
}

export const GOOD =
  'Think.\n<Parallel>\n<Path>\none way\n</Path>\n<Path>\nanother way\n</Path>\n</Parallel>\n<Summary>\nboth agree\n</Summary>\nFinal Answer: 4';

/** A whole reply, with the tokens that it took. */
export function completion(response: ServerResponse, text: string, finish = 'stop'): true {
  response.end(
    JSON.stringify({
      choices: [{ message: { role: 'assistant', content: text }, finish_reason: finish }],
      usage: { prompt_tokens: 10, completion_tokens: 20 },
    }),
  );
  return true;
}

export const status = (response: ServerResponse, code: number, headers = {}, body = ''): true => {
  response.writeHead(code, headers).end(body);
  return true;
};

export async function openChat(): Promise<ChatServer> {
  const counts = new Map<string, number>();
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const part of request) text += part;
    const body = JSON.parse(text);
    const { content } = body.messages[0];
    const count = counts.get(content) ?? 0;
    counts.set(content, count + 1);
    chat.requests.push({ content, body, authorization: request.headers.authorization });
    if (chat.misbehave?.(response, content, count, request)) return;
    completion(response, chat.reply(content));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const chat: ChatServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests: [],
    misbehave: null,
    reply: () => GOOD,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  return chat;
}
