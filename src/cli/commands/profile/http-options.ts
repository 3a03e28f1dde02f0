import { headersOf } from '../../../app/server/headers.ts';
import { messageOf, TrituneError } from '../../../base/errors.ts';
import { trituneVersion } from '../../../base/package.ts';
import { fileLimits, readBytes } from '../../../base/read-file.ts';
import type { RequestHeader } from '../../../loadgen/types.ts';
import type { HeaderSpec } from '../../../spec/server-spec.ts';
import { clientOptionTable } from '../../options/client.ts';
import { headerOptionTable } from '../../options/headers.ts';
import { type OptionTable, under } from '../../options/option-table.ts';
import { tlsOptionTable } from '../../options/tls.ts';
import { levelOptionTable } from './level-options.ts';
import { measuringOptionTable } from './measuring-options.ts';
import { outputOptionTable } from './output-options.ts';
import { perfAnalyzerOptionTable } from './perf-analyzer-options.ts';

/** The options that only plain HTTP has. */
export interface PlainHttpFlags {
  readonly method?: string;
  readonly body?: string;
  readonly bodyFile?: string;
  /** USER:PASSWORD; neither printed nor stored. */
  readonly basicAuth?: string;
  readonly disableKeepalive?: boolean;
  readonly outputFormat?: 'text' | 'json';
}

export const plainHttpOptionTable: OptionTable<PlainHttpFlags> = under<PlainHttpFlags>('Plain HTTP', {
  method: { flags: '--method <method>', help: 'HTTP method (default: GET, or POST with a body)' },
  body: {
    flags: '--body <text>',
    help: 'Body of the request; JSON gets its Content-Type',
  },
  bodyFile: { flags: '--body-file <file>', help: 'File with the body of the request' },
  basicAuth: {
    flags: '--basic-auth <user:password>',
    help: 'User and password for basic authentication',
  },
  disableKeepalive: { flags: '--disable-keepalive', help: 'Open a new connection for every request' },
  outputFormat: {
    flags: '--output-format <format>',
    help: 'Format of the summary (default: text)',
    choices: ['text', 'json'],
  },
});

const { fixedSchedule, scenario, batchSizes, concurrencies, ...levels } = levelOptionTable;
const { profileExportFile, output, ...outputs } = outputOptionTable;

/** The options of `profile` that apply to plain HTTP. */
export const honouredByHttp: ReadonlySet<string> = new Set([
  ...[
    plainHttpOptionTable,
    levels,
    measuringOptionTable,
    outputs,
    clientOptionTable,
    tlsOptionTable,
    headerOptionTable,
  ].flatMap((table) => Object.keys(table)),
  ...['serviceKind', 'url', 'protocol', 'startConcurrency', 'endConcurrency', 'dynamicConcurrency'],
  ...Object.keys(perfAnalyzerOptionTable).filter((name) => name.startsWith('sslHttps')),
  // perf_analyzer's options about threads and waiting, which are ignored for a model too.
  ...['async', 'sync', 'maxThreads', 'metricsInterval'],
]);

/** The request, without its destination. */
export interface PlainContent {
  readonly method: string;
  readonly headers: readonly RequestHeader[];
  /** The Host header, if it differs from the address. */
  readonly host: string | undefined;
  readonly body: Uint8Array | null;
  /** Headers with secret values, which are never shown. */
  readonly secrets: readonly RequestHeader[];
}

/** Headers about the message length and the connection, which tritune sets itself. */
const reserved = /^(content-length|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect)$/;
/** Methods that always have a body, even if it is empty (RFC 9110, section 8.6). */
const bodied = ['POST', 'PUT', 'PATCH'];

type ContentOptions = PlainHttpFlags & HeaderSpec;

/**
 * Returns the request in the options; `credentials` are those of the address. Errors: USAGE, which never shows a header's value or a password;
 * INPUT_INVALID for a body that cannot be read.
 */
export async function plainContent(options: ContentOptions, credentials: string | undefined): Promise<PlainContent> {
  const body = await bodyOf(options);
  const method = options.method?.toUpperCase() ?? (body === null ? 'GET' : 'POST');
  if (!/^[A-Z][A-Z-]*$/.test(method) || method === 'CONNECT' || method === 'TRACE') {
    throw usage(`'${options.method}' is not a supported HTTP method`, 'give for example --method POST');
  }
  const given = headersOf(options, reserved);
  const names = new Set(given.map(({ name }) => name));
  const login = options.basicAuth ?? credentials;
  const own = [
    { name: 'user-agent', value: `tritune/${trituneVersion}` },
    { name: 'accept', value: '*/*' },
    ...(body !== null && isJson(body) ? [{ name: 'content-type', value: 'application/json' }] : []),
    ...(login === undefined ? [] : [authorization(login)]),
  ];
  return {
    method,
    headers: [...own.filter(({ name }) => !names.has(name)), ...given.filter(({ name }) => name !== 'host')],
    secrets: [...given, ...own.filter(({ name }) => name === 'authorization')],
    host: given.find(({ name }) => name === 'host')?.value,
    body: body ?? (bodied.includes(method) ? new Uint8Array(0) : null),
  };
}

async function bodyOf({ body, bodyFile }: PlainHttpFlags): Promise<Uint8Array | null> {
  if (body !== undefined && bodyFile !== undefined) {
    throw usage('--body and --body-file cannot be used together', 'leave one of them out');
  }
  if (bodyFile === undefined) return body === undefined ? null : Buffer.from(body);
  return readBytes(bodyFile, fileLimits.inputData).catch((error: unknown) => {
    throw new TrituneError(
      'INPUT_INVALID',
      `cannot read '${bodyFile}': ${messageOf(error)}`,
      'give the path of a file with the body',
    );
  });
}

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
