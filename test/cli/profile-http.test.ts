import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterEach, describe, expect, it } from 'vitest';
import { plainContent } from '#app/traffic/http-content.ts';
import { isTrituneError } from '#base/errors.ts';
import { profileOptionTable } from '#cli/commands/profile/any-service.ts';
import type { PlainHttpFlags } from '#cli/commands/profile/http-options.ts';
import type { ProfileOptions } from '#cli/commands/profile/options.ts';
import { type AnyProfileOptions, runProfile, toExitCode } from '#cli/commands/profile/run.ts';
import { addOptions } from '#cli/options/option-table.ts';
import { plainHttpUrl } from '#loadgen/plain-http-url.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { callCli } from '../support/call-cli.ts';
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

const defaults = addOptions(new Command(), profileOptionTable).parse([], { from: 'user' }).opts<ProfileOptions>();

async function run(options: Partial<AnyProfileOptions>): Promise<Said> {
  const [printed, told]: [string[], string[]] = [[], []];
  const terminal = {
    print: (line: string) => printed.push(line),
    tell: (line: string) => told.push(line),
    status: () => undefined,
  };
  const outcome = await runProfile(
    'http',
    { ...defaults, protocol: 'http', requestTimeout: 5, requestCount: 20, ...options },
    terminal,
    false,
  );
  return { exitCode: toExitCode(outcome), printed, told };
}

const failureOf = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);
const at = (level: number) => ({ start: level, end: level, step: 1 });

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

  it('takes bodies from the lines of a file', async () => {
    const file = join(await scratch(), 'bodies');
    await writeFile(file, '{"a":1}\n\n{"a":2}\r\n');
    const { body, bodies, fields } = await named({ bodiesFile: file });
    expect(bodies.map(String)).toEqual(['{"a":1}', '{"a":2}']);
    expect(body).toEqual(bodies[0]);
    expect(fields).toMatchObject({ 'content-type': 'application/json' });
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
    [{ body: 'a', bodiesFile: 'b' }, 'USAGE'],
    [{ bodyFile: '/no/such/file' }, 'INPUT_INVALID'],
    [{ bodiesFile: '/dev/null' }, 'INPUT_INVALID'],
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
    const document = JSON.parse(await readFile(json, 'utf8')) as unknown;
    const replies = { count: 20, totalBytes: 100, statuses: [{ status: 200, count: 20 }] };
    expect(document).toMatchObject({ schemaVersion: 1, server: { name: 'http' }, levels: [{ requests: 20, replies }] });
    expect(seen).toHaveLength(20);
    expect(seen[0]).toMatchObject({ authorization: 'Basic bWU6c2VzYW0=' });
  });

  it('prints JSON where that is asked for', async () => {
    const url = await serve((_, response) => response.writeHead(500).end());
    const { printed, exitCode } = await run({ url, outputFormat: 'json' });
    expect(exitCode).toBe(0);
    const replies = { statuses: [{ status: 500, count: 20 }] };
    expect(JSON.parse(printed.join('\n'))).toMatchObject({ levels: [{ replies }] });
  });

  it('measures level after level, with a warm-up, into the files of any profile', async () => {
    let [requests, inFlight, most] = [0, 0, 0];
    const url = await serve((_, response) => {
      requests++;
      most = Math.max(most, ++inFlight);
      setTimeout(() => {
        inFlight--;
        response.end('hello');
      }, 3);
    });
    const directory = await scratch();
    const [csv, ndjson] = [join(directory, 'levels.csv'), join(directory, 'lines')];
    const { printed } = await run({
      url,
      concurrencyRange: { start: 1, end: 3, step: 2 },
      requestCount: 0,
      warmupRequestCount: 10,
      measurementInterval: 100,
      maxTrials: 3,
      stabilityPercentage: 500,
      percentile: 95,
      csv,
      ndjson,
      clientThreads: 2,
    });
    expect(printed.filter((line) => /^Request concurrency: [13]$/.test(line))).toHaveLength(2);
    expect(printed.filter((line) => line === 'Summary:')).toHaveLength(2);
    expect(printed.at(-1)).toMatch(/^Concurrency: 3, throughput: /);
    expect(printed).toContain('  Stabilizing using p95 latency and throughput');
    const [head, ...rows] = (await readFile(csv, 'utf8')).trim().split('\n');
    expect(head).toMatch(/^Concurrency,Inferences\/Second,.*p95 latency/);
    expect(rows).toHaveLength(2);
    const events = (await readFile(ndjson, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Event);
    type Event = { readonly type: string; readonly requests: number; readonly replies: { readonly count: number } };
    const levels = events.filter(({ type }) => type === 'level');
    expect(levels).toHaveLength(2);
    for (const level of levels) expect(level.replies.count).toBe(level.requests);
    // The warm-up is sent and does not count.
    expect(requests).toBeGreaterThanOrEqual(20 + levels.reduce((sum, level) => sum + level.requests, 0));
    expect(most).toBe(3);
  });

  it('keeps a rate, evenly or at random, with no more in flight than asked for', async () => {
    const url = await serve((_, response) => response.end());
    const level = { requestRateRange: at(20), requestCount: 20 };
    const { printed } = await run({ url, ...level, requestDistribution: 'constant' });
    expect(printed).toContain('  Asked:\t20 requests/sec');
    expect(printed).toContain('  Not sent:\t0 requests, as too many were in flight');
    expect((await run({ url, ...level, requestDistribution: 'poisson', seed: 7 })).exitCode).toBe(0);
    const slow = await serve((_, response) => setTimeout(() => response.end(), 300));
    const json = join(await scratch(), 'out.json');
    await run({ url: slow, requestRateRange: at(400), requestCount: 400, concurrencyRange: at(3), json });
    const [measured] = (JSON.parse(await readFile(json, 'utf8')) as { levels: Measurement[] }).levels;
    expect(measured?.openLoop?.droppedSends).toBeGreaterThan(300);
    expect((measured?.requests ?? 0) + (measured?.openLoop?.droppedSends ?? 0)).toBe(400);
  });

  it('says where metrics that were asked for are not', async () => {
    const url = await serve((_, response) => response.end());
    const page = await serve((_, response) => response.end('nv_cpu_utilization 0.5\n'));
    expect((await run({ url, collectMetrics: true, metricsUrl: `${page}/metrics` })).told).toEqual([]);
    // PyTriton's page counts the inferences of its models, whatever the path of the requests.
    const counts = 'nv_inference_count{model="mlp",version="1"} 3\nnv_cpu_utilization 0.5\n';
    const counting = await serve((_, response) => response.end(counts));
    expect((await run({ url, collectMetrics: true, metricsUrl: `${counting}/metrics` })).told).toEqual([]);
    const empty = await serve((_, response) => response.end(''));
    const { told } = await run({ url, collectMetrics: true, metricsUrl: `${empty}/metrics` });
    expect(told.join()).toContain('no GPU or CPU metrics');
    const far = await failureOf(run({ url: 'http://192.0.2.1/', collectMetrics: true }));
    expect(far).toMatchObject({ code: 'USAGE' });
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
    [{ url: 'http://a', protocol: 'grpc' as const }],
    [{ url: 'http://a', tlsInsecure: true }],
    [{ url: 'http://a', concurrencyRange: { start: 1, end: 4, step: 1 } }],
    [{ url: 'http://a', requestRateRange: { start: 1, end: 0, step: 1 } }],
  ])('refuses %j', async (options) => {
    expect(await failureOf(run(options))).toMatchObject({ code: 'USAGE' });
  });

  it.each([
    [['--service-kind', 'http', '-u', 'http://a', '-m', 'mlp'], '--model does not apply to plain HTTP'],
    [['--service-kind', 'http', '-u', 'http://a', '-b', '1'], '--batch does not apply'],
    [['--service-kind', 'http', '-u', 'http://a', '--streaming'], 'streams cannot be combined with plain HTTP, '],
    [['--service-kind', 'http', '-u', 'http://a', '--trace-level', 'MAX'], '--trace-level does not apply'],
    [['-m', 'mlp', '--body', 'x'], '--body is for plain HTTP'],
  ])('ignores nothing in silence: %j', async (args, words) => {
    const { stderr } = await callCli(['profile', ...args]);
    expect(stderr).toContain(`USAGE: ${words}`);
  });
});
