/** A data file by its address. */
import { messageOf, UserError } from '../../base/assert.ts';
import { type ByteSource, piecesOf } from '../../engine/data/read/bytes.ts';

/** Pages that show a file, and the file itself beside them. */
const SHOWN: readonly [RegExp, string][] = [
  [/^https:\/\/huggingface\.co\/(.+?)\/blob\/(.+)$/, 'https://huggingface.co/$1/resolve/$2'],
  [/^https:\/\/github\.com\/([^/]+\/[^/]+)\/blob\/(.+)$/, 'https://raw.githubusercontent.com/$1/$2'],
];

function addressOf(text: string): URL {
  const shown = SHOWN.find(([page]) => page.test(text));
  const direct = shown ? text.replace(shown[0], shown[1]) : text;
  let url: URL;
  try {
    url = new URL(direct);
  } catch {
    throw new UserError(
      `${JSON.stringify(text)} is not an address. It should look like https://host/folder/file.jsonl.`,
    );
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new UserError(`${url.protocol} addresses can't be fetched. Give one that begins with https://.`);
  return url;
}

/**
 * Asks for a file; its bytes come when the source is read.
 * @throws UserError where there is no such file or this page may not read it
 */
export async function urlSource(
  text: string,
  { fetch: fetchIt = fetch, signal }: { fetch?: typeof fetch; signal?: AbortSignal } = {},
): Promise<ByteSource> {
  const url = addressOf(text.trim());
  let response: Response;
  try {
    response = await fetchIt(url, { signal });
  } catch (error) {
    signal?.throwIfAborted();
    throw new UserError(
      `${url.href} could not be fetched (${messageOf(error)}): there is no connection, no such server, or the server does not let other pages read its files (CORS). Download the file and drop it here.`,
    );
  }
  if (!response.ok)
    throw new UserError(
      `${url.href} could not be fetched: the server answered ${response.status}${
        response.status === 401 || response.status === 403
          ? ', it wants to know who asks. Download the file and drop it here.'
          : '. Check the address.'
      }`,
    );
  if (/^text\/html/.test(response.headers.get('content-type') ?? ''))
    throw new UserError(`${url.href} is a web page, not a data file. Copy the address of the file itself.`);
  const { body } = response;
  if (!body) throw new UserError(`${url.href} gave nothing.`);
  const path = url.pathname.split('/');
  const name = decodeURIComponent(path[path.length - 1]) || url.host;
  // A packed transfer is longer when it is read than the header says.
  const length = response.headers.has('content-encoding') ? null : response.headers.get('content-length');
  return { name, size: length === null ? -1 : Number(length), stream: () => piecesOf(body) };
}
