import { formatMessage, TrituneError } from '#base/errors.ts';
import { trituneVersion } from '#base/package.ts';
import { fileLimits, readBytes } from '#base/read-file.ts';
import type { RequestHeader } from '#loadgen/types.ts';
import type { HttpSpec } from '#spec/http-spec.ts';
import type { HeaderSpec } from '#spec/server-spec.ts';
import { splitAuthority } from '#triton/wire/authority.ts';
import { readHeaders } from '../server/headers.ts';

/** The request, without its destination. */
export interface PlainContent {
  readonly method: string;
  readonly headers: readonly RequestHeader[];
  /** The Host header, if it differs from the address. */
  readonly host: string | undefined;
  readonly body: Uint8Array | null;
  /** Headers with secret values, which are never shown. */
  readonly secrets: readonly RequestHeader[];
  /** The bodies that are sent in turn; empty for that of every request. */
  readonly bodies: readonly Uint8Array[];
  /** The path of the API, if the options name none. */
  readonly path: string | undefined;
  /** The inferences in one request. */
  readonly batch: number;
  /** True where only a reply below 400 counts. */
  readonly refusalsFail: boolean;
  /** What was made up, for people. */
  readonly notes: readonly string[];
}

/** Headers about the message length and the connection, which tritune sets itself. */
const reserved = /^(content-length|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect)$/;
/** Methods that always have a body, even if it is empty (RFC 9110, section 8.6). */
const bodied = ['POST', 'PUT', 'PATCH'];

type ContentOptions = HttpSpec & HeaderSpec & { readonly basicAuth?: string };

/**
 * Returns the request in the options; `credentials` are those of the address. Errors: USAGE, which
 * never shows a header's value or a password; INPUT_INVALID for a body that cannot be read.
 */
export async function plainContent(options: ContentOptions, credentials: string | undefined): Promise<PlainContent> {
  const { body, bodies } = await readBodies(options);
  const method = options.method?.toUpperCase() ?? (body === null ? 'GET' : 'POST');
  if (!/^[A-Z][A-Z-]*$/.test(method) || method === 'CONNECT' || method === 'TRACE') {
    throw usage(`'${options.method}' is not a supported HTTP method`, 'give for example --method POST');
  }
  const headers = readHeaders(options, reserved);
  const { authority: host, others } = splitAuthority(headers);
  const names = new Set(headers.map(({ name }) => name));
  const login = options.basicAuth ?? credentials;
  const requestHeaders = [
    { name: 'user-agent', value: `tritune/${trituneVersion}` },
    { name: 'accept', value: '*/*' },
    ...(body !== null && [body, ...bodies].every(isJson) ? [{ name: 'content-type', value: 'application/json' }] : []),
    ...(login === undefined ? [] : [authorization(login)]),
  ];
  return {
    method,
    headers: [...requestHeaders.filter(({ name }) => !names.has(name)), ...others],
    secrets: [...headers, ...requestHeaders.filter(({ name }) => name === 'authorization')],
    host,
    body: body ?? (bodied.includes(method) ? new Uint8Array(0) : null),
    bodies,
    path: options.path,
    batch: 1,
    refusalsFail: false,
    notes: [],
  };
}

/** Returns the body of every request, or several and the first of them. */
async function readBodies({ body, bodyFile, bodiesFile }: HttpSpec): Promise<Pick<PlainContent, 'body' | 'bodies'>> {
  if ([body, bodyFile, bodiesFile].filter((each) => each !== undefined).length > 1)
    throw usage('--body, --body-file and --bodies-file cannot be used together', 'leave all but one of them out');
  if (bodiesFile === undefined)
    return { body: bodyFile === undefined ? findBytes(body) : await readBody(bodyFile), bodies: [] };
  const lines = (await readBody(bodiesFile)).toString('utf8').split(/\r?\n/);
  const [first, ...others] = lines.filter((line) => line.trim() !== '').map((line) => Buffer.from(line));
  if (first === undefined)
    throw new TrituneError('INPUT_INVALID', `'${bodiesFile}' has no bodies`, 'write a body in each line');
  return { body: first, bodies: [first, ...others] };
}

const findBytes = (text: string | undefined): Uint8Array | null => (text === undefined ? null : Buffer.from(text));

const readBody = (file: string): Promise<Buffer> =>
  readBytes(file, fileLimits.inputData).catch((error: unknown) => {
    throw new TrituneError(
      'INPUT_INVALID',
      `cannot read '${file}': ${formatMessage(error)}`,
      'give the path of a file with the body',
    );
  });

function isJson(body: Uint8Array): boolean {
  try {
    JSON.parse(Buffer.from(body).toString('utf8'));
    return true;
  } catch {
    return false;
  }
}

/** RFC 7617, in UTF-8. */
function authorization(login: string): RequestHeader {
  if (!login.includes(':')) throw usage('--basic-auth is not USER:PASSWORD', 'put a colon between user and password');
  return { name: 'authorization', value: `Basic ${Buffer.from(login).toString('base64')}` };
}

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
