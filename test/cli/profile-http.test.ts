import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { isTrituneError } from '../../src/base/errors.ts';
import { type PlainHttpOptions, runPlainHttp } from '../../src/cli/commands/profile/http.ts';
import { type PlainHttpFlags, plainContent } from '../../src/cli/commands/profile/http-options.ts';
import { plainHttpUrl } from '../../src/loadgen/plain-http/url.ts';
import { newAuthority } from '../support/certificates.ts';
import { listen, refusingUrl } from '../support/misbehaving-server.ts';

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

async function scratch(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tritune-http-'));
  cleanUps.push(() => rm(directory, { recursive: true }));
  return directory;
}

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  const port = await listen(server);
  cleanUps.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${port}`;
}

interface Said {
  readonly exitCode: number;
  readonly printed: readonly string[];
  readonly told: readonly string[];
}

async function run(options: Partial<PlainHttpOptions>): Promise<Said> {
  const [printed, told]: [string[], string[]] = [[], []];
  const terminal = {
    print: (line: string) => printed.push(line),
    tell: (line: string) => told.push(line),
    status: () => undefined,
  };
  const exitCode = await runPlainHttp({ requestTimeout: 5, requestCount: 20, ...options }, terminal);
  return { exitCode, printed, told };
}

const failureOf = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);
const at = (level: number) => ({ start: level, end: level });

describe('the address of plain HTTP', () => {
  it.each([
    ['http://a.b/c?d=e#f', { address: 'a.b:80', host: 'a.b', target: '/c?d=e', isSecure: false }],
    ['https://a.b', { address: 'a.b:443', host: 'a.b', target: '/', isSecure: true }],
    ['HTTP://a.b:81', { address: 'a.b:81', host: 'a.b:81', isSecure: false }],
    ['localhost:8000/v2', { address: 'localhost:8000', target: '/v2', isSecure: undefined }],
    ['[::1]:8000/x', { address: '[::1]:8000', host: '[::1]:8000' }],
    ['http://u:p%40q@a.b/', { address: 'a.b:80', host: 'a.b', credentials: 'u:p@q' }],
    ['http://a/a b', { target: '/a%20b' }],
  ])('is read from %s', (text, parts) => {
    expect(plainHttpUrl(text, false)).toMatchObject(parts);
  });

  it('is of TLS where the options say so', () => {
    expect(plainHttpUrl('a.b', true).address).toBe('a.b:443');
  });

  it.each(['', 'http://', 'ftp://a', 'http://a:99999', 'http://a:0', 'a b'])('is not %j', (text) => {
    expect(() => plainHttpUrl(text, false)).toThrow(expect.objectContaining({ code: 'USAGE' }));
  });

  it('is not shown with a password', () => {
    expect(() => plainHttpUrl('http://me:secret@a b', false)).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('secret') }),
    );
  });
});

describe('the content of plain HTTP', () => {
  const named = async (options: PlainHttpFlags & { header?: readonly string[] }, credentials?: string) => {
    const { headers, ...content } = await plainContent(options, credentials);
    const fields: Record<string, string> = Object.fromEntries(headers.map(({ name, value }) => [name, value]));
    return { ...content, fields };
  };

  it('is a GET without a body, unless asked for otherwise', async () => {
    expect(await named({})).toMatchObject({ method: 'GET', body: null, host: undefined });
    expect(await named({ method: 'post' })).toMatchObject({ method: 'POST', body: new Uint8Array(0) });
    expect(await named({ body: 'x' })).toMatchObject({ method: 'POST', body: Buffer.from('x') });
    expect(await named({ body: 'x', method: 'DELETE' })).toMatchObject({ method: 'DELETE' });
  });

  it('says that JSON is JSON, unless asked for otherwise', async () => {
    expect((await named({ body: '{"a":1}' })).fields).toMatchObject({ 'content-type': 'application/json' });
    expect((await named({ body: '{a' })).fields).not.toHaveProperty('content-type');
    const header = ['Content-Type: text/plain', 'user-agent: me'];
    expect((await named({ body: '1', header })).fields).toMatchObject({
      'content-type': 'text/plain',
      'user-agent': 'me',
    });
  });

  it('takes the body from a file, as it is', async () => {
    const file = join(await scratch(), 'body');
    await writeFile(file, Buffer.of(0, 255, 10));
    expect((await named({ bodyFile: file })).body).toEqual(Buffer.of(0, 255, 10));
  });

  it('lets the Host header be another', async () => {
    const { host, fields } = await named({ header: ['Host: a.b'] });
    expect(host).toBe('a.b');
    expect(fields).not.toHaveProperty('host');
  });

  it.each([
    [{ basicAuth: 'me:sesam' }, undefined],
    [{ basicAuth: 'me:sesam' }, 'other:words'],
    [{}, 'me:sesam'],
  ])('proves who asks, from %j and an address of %j', async (options, credentials) => {
    expect((await named(options, credentials)).fields.authorization).toBe('Basic bWU6c2VzYW0=');
  });

  it.each([
    [{ body: 'a', bodyFile: 'b' }, 'USAGE'],
    [{ bodyFile: '/no/such/file' }, 'INPUT_INVALID'],
    [{ method: 'GET /x' }, 'USAGE'],
    [{ method: 'connect' }, 'USAGE'],
    [{ basicAuth: 'hush' }, 'USAGE'],
    [{ header: ['Content-Length: 5'] }, 'USAGE'],
    [{ header: ['Connection: close'] }, 'USAGE'],
    [{ header: ['A: hush\r\nB: c'] }, 'USAGE'],
  ])('is not %j', async (options, code) => {
    const error = await failureOf(plainContent(options, undefined));
    expect(error).toMatchObject({ code });
    expect(String(error)).not.toContain('hush');
  });
});

describe('a run of plain HTTP', () => {
  it('prints what came back, and writes it down', async () => {
    const seen: IncomingHttpHeaders[] = [];
    const url = await serve((request, response) => {
      seen.push(request.headers);
      response.statusCode = request.url === '/x' ? 200 : 404;
      response.end('hello');
    });
    const json = join(await scratch(), 'out.json');
    const { exitCode, printed } = await run({ url: `${url}/x`, concurrencyRange: at(4), json, basicAuth: 'me:sesam' });
    expect(exitCode).toBe(0);
    expect(printed).toContain('  [200]\t20 responses');
    expect(printed).toContain('  Total data:\t100 bytes');
    expect(printed.join('\n')).not.toMatch(/sesam|bWU6/);
    const summary = JSON.parse(await readFile(json, 'utf8')) as unknown;
    expect(summary).toMatchObject({ schemaVersion: 1, totalBytes: 100, statuses: [{ status: 200, count: 20 }] });
    expect(seen).toHaveLength(20);
    expect(seen[0]).toMatchObject({ authorization: 'Basic bWU6c2VzYW0=' });
  });

  it('prints JSON where that is asked for', async () => {
    const url = await serve((_, response) => response.writeHead(500).end());
    const { printed, exitCode } = await run({ url, outputFormat: 'json' });
    expect(exitCode).toBe(0);
    expect(JSON.parse(printed.join('\n'))).toMatchObject({ statuses: [{ status: 500, count: 20 }], rate: null });
  });

  it('lasts as long as asked for, at a rate', async () => {
    const url = await serve((_, response) => response.end());
    const level = { requestRateRange: at(100), measurementInterval: 200, requestCount: 0 };
    const { printed } = await run({ url, ...level, requestDistribution: 'constant' });
    expect(printed).toContain('  Asked:\t100 requests/sec');
    expect(printed.join('\n')).toMatch(/ {2}Sent:\t20 requests/);
    expect((await run({ url, ...level, requestDistribution: 'poisson', seed: 7 })).exitCode).toBe(0);
  });

  it('fails where no reply ever comes, without a word of the password', async () => {
    const url = `http://me:hush@${await refusingUrl()}/x`;
    const error = await failureOf(run({ url, requestCount: 2 }));
    expect(isTrituneError(error, 'SERVER_UNREACHABLE')).toBe(true);
    expect(String(error)).not.toContain('hush');
    const silent = await serve(() => undefined);
    const late = await failureOf(run({ url: silent, requestCount: 2, requestTimeout: 0.1 }));
    expect(isTrituneError(late, 'SERVER_TIMEOUT')).toBe(true);
  });

  it('says what to do about TLS', async () => {
    const tls = await (await newAuthority()).serverFor(['127.0.0.1']);
    const server = createSecureServer(tls, (_, response) => response.end());
    const port = await listen(server);
    cleanUps.push(() => new Promise((resolve) => server.close(resolve)));
    const wary = await failureOf(run({ url: `https://127.0.0.1:${port}`, requestCount: 1 }));
    expect(wary).toMatchObject({ code: 'SERVER_UNREACHABLE', hint: expect.stringContaining('--tls-ca') });
    const plain = await failureOf(run({ url: `http://127.0.0.1:${port}`, requestCount: 1 }));
    expect(plain).toMatchObject({ hint: expect.stringContaining('https://') });
    const { exitCode, told } = await run({ url: `127.0.0.1:${port}`, requestCount: 1, tlsInsecure: true });
    expect(exitCode).toBe(0);
    expect(told.join()).toContain('not verified');
  });

  it.each([
    [{}],
    [{ url: 'http://a', warmupRequestCount: 5 }],
    [{ url: 'http://a', model: 'mlp' }],
    [{ url: 'http://a', tlsInsecure: true }],
    [{ url: 'http://a', concurrencyRange: { start: 1, end: 4 } }],
    [{ url: 'http://a', requestRateRange: { start: 1, end: 0 } }],
  ])('refuses %j', async (options) => {
    expect(await failureOf(run(options))).toMatchObject({ code: 'USAGE' });
  });
});
