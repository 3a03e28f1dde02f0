import { Agent, request } from 'undici';
import { formatMessage } from '#base/errors.ts';
import { isJsonObject } from '#base/json.ts';
import { secretsOut } from '#base/secrets.ts';
import { secureConnect, textWithin } from '#triton/wire/http.ts';
import type { TlsOptions } from '#triton/wire/tls.ts';
import type { RequestHeader } from '../types.ts';

/** A server's answer to the request for its models. */
export type ModelsAnswer =
  | {
      readonly kind: 'models';
      readonly names: readonly string[];
      readonly owner: string;
      /** The path of the API, such as `/v1`. */
      readonly base: string;
    }
  /** It speaks HTTP, but lacks this page. */
  | { readonly kind: 'other'; readonly path: string; readonly status: number; readonly message: string }
  | { readonly kind: 'unreachable'; readonly message: string };

export interface ServerAddress {
  /** HOST:PORT */
  readonly address: string;
  readonly host: string;
  /** The part of its paths before `/v1`, or the whole base of an API with another version. */
  readonly basePath: string;
  readonly headers: readonly RequestHeader[];
  readonly tls: TlsOptions | undefined;
}

/** Far above the list of a server of thousands of models. */
const MAX_BYTES = 2 ** 20;

/** Returns the paths at which an API of this base may be: the usual version first. */
export const listApiBases = (basePath: string): readonly [string, ...string[]] =>
  basePath === '' ? ['/v1'] : [`${basePath}/v1`, basePath];

/**
 * Asks a server for its models with OpenAI's `GET /v1/models`, at each base that its API may have.
 * No answer repeats the value of a header.
 */
export async function askModels(server: ServerAddress, timeoutMs: number): Promise<ModelsAnswer> {
  const [usual, ...others] = listApiBases(server.basePath);
  const first = await askAt(server, usual, timeoutMs);
  for (const base of first.kind === 'other' ? others : []) {
    const answer = await askAt(server, base, timeoutMs);
    if (answer.kind === 'models') return answer;
  }
  return first;
}

async function askAt(
  { address, host, headers, tls }: ServerAddress,
  base: string,
  timeoutMs: number,
): Promise<ModelsAnswer> {
  const path = `${base}/models`;
  const agent = new Agent({ pipelining: 0, ...(tls && { connect: secureConnect(tls) }) });
  const clear = secretsOut(headers);
  try {
    const { statusCode, body } = await request(`${tls ? 'https' : 'http'}://${address}${path}`, {
      dispatcher: agent,
      headers: { host, ...Object.fromEntries(headers.map(({ name, value }) => [name, value])) },
      signal: AbortSignal.timeout(timeoutMs),
    });
    const text = await textWithin(MAX_BYTES, body);
    const models = statusCode === 200 ? modelsIn(clear(text)) : null;
    if (models) return { kind: 'models', ...models, base };
    return { kind: 'other', path, status: statusCode, message: clear(text.trim().slice(0, 300)) };
  } catch (error) {
    return { kind: 'unreachable', message: clear(formatMessage(error)) };
  } finally {
    await agent.destroy();
  }
}

function modelsIn(text: string): { readonly names: readonly string[]; readonly owner: string } | null {
  const json = parsed(text);
  if (!isJsonObject(json) || !Array.isArray(json.data)) return null;
  const models = json.data.filter(isJsonObject);
  const names = models.flatMap(({ id }) => (typeof id === 'string' ? [id] : []));
  const owner = models[0]?.owned_by;
  return { names, owner: typeof owner === 'string' ? owner : '' };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
