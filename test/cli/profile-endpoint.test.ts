import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type FindOptions, findEndpoint, type RequestedEndpoint } from '#app/server/find-endpoint.ts';
import { goodputLimits } from '#cli/options/goodput.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { callCli } from '../support/call-cli.ts';
import { listen, refusingUrl } from '../support/misbehaving-server.ts';
import { openAiServer, type ScriptedModel } from '../support/openai-server.ts';
import { type TextCall, type TextReply, textServer } from '../support/text-server.ts';

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

async function scratch(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tritune-endpoint-'));
  cleanUps.push(() => rm(directory, { recursive: true }));
  return directory;
}

async function serve(model: Partial<ScriptedModel> = {}) {
  const pieces = [' a', ' b', ' c', ' d'].map((text) => ({ afterMs: 0, text }));
  const server = await openAiServer({ reply: () => ({ pieces, usage: { input: 7, output: 4, cached: 7 } }), ...model });
  cleanUps.push(() => server.close());
  return server;
}

describe('limits of good replies', () => {
  it.each([
    ['ttft<=200ms itl<=20ms tpot<=15ms e2e<=5s', { ttftNs: 2e8, itlNs: 2e7, tpotNs: 1.5e7, e2eNs: 5e9 }],
    ['ttft:200 tpot:15 e2el:5000', { ttftNs: 2e8, tpotNs: 1.5e7, e2eNs: 5e9 }],
    ['request_latency:250 inter_token_latency:10', { e2eNs: 2.5e8, tpotNs: 1e7 }],
    ['TTFT<=1.5s, itl<=500us', { ttftNs: 1.5e9, itlNs: 5e5 }],
  ])('are read from %s', (text, limits) => {
    expect(goodputLimits(text, undefined)).toEqual(limits);
    expect(text.split(/[ ,]+/).reduce((sum, part) => goodputLimits(part, sum), {})).toEqual(limits);
  });

  it.each(['ttft', 'ttft<=0', 'ttft>=5', 'latency<=5', 'ttft<=5min', 'ttft:5 ttft:6', 'constructor:1'])(
    'are not in %s',
    (text) => {
      expect(() => goodputLimits(text, undefined)).toThrow(expect.objectContaining({ code: 'USAGE' }));
    },
  );
});

it('writes a line for each request, with the names of AIPerf', { timeout: 60_000 }, async () => {
  const server = await serve();
  const path = join(await scratch(), 'requests.jsonl');
  const args = ['--endpoint', 'openai', '-u', server.url, '-m', 'm', '--request-count', '20'];
  const outcome = await callCli(['profile', ...args, '--concurrency', '2', '--profile-export-file', path]);
  expect(outcome).toMatchObject({ code: 0 });
  const text = await readFile(path, 'utf8');
  const records = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(records.length).toBeGreaterThanOrEqual(20);
  expect(records.map(({ metadata }) => metadata.benchmark_phase)).toContain('profiling');
  expect(records.at(-1)).toMatchObject({
    metadata: { session_num: records.length - 1, was_cancelled: false, concurrency: 2 },
    metrics: {
      input_sequence_length: { value: 7, unit: 'tokens' },
      output_sequence_length: { value: 4, unit: 'tokens' },
      time_to_first_token: { unit: 'ms' },
      inter_chunk_latency: { value: expect.any(Array), unit: 'ms' },
    },
    error: null,
  });
  for (const line of text.trim().split('\n')) {
    const [, start = '', end = ''] = /"request_start_ns":(\d{19}),"request_end_ns":(\d{19}),/.exec(line) ?? [];
    expect(BigInt(end)).toBeGreaterThan(BigInt(start));
  }
  const { metrics } = records.at(-1);
  expect(metrics.inter_chunk_latency.value).toHaveLength(3);
  expect(metrics.request_latency.value).toBeGreaterThan(metrics.time_to_first_token.value);
});

describe('an endpoint', () => {
  const find = (address: string, asked: RequestedEndpoint, more: Partial<FindOptions> = {}) =>
    findEndpoint({
      address,
      host: address,
      basePath: '',
      headers: [],
      tls: undefined,
      requestedEndpoint: asked,
      model: undefined,
      modelVersion: '',
      path: undefined,
      timeoutMs: 2000,
      extra: undefined,
      ...more,
    });

  it('is found by the pages of an OpenAI server, with its only model', async () => {
    const { url } = await serve();
    const form = { saysUsage: true, canIgnoreEnd: true };
    const found = { endpoint: { kind: 'openai-chat', path: '/v1/chat/completions', ...form }, model: 'm' };
    for (const asked of ['auto', 'openai', 'openai-chat'] as const) expect(await find(url, asked)).toMatchObject(found);
    expect(await find(url, 'openai-completions')).toMatchObject({ endpoint: { kind: 'openai-completions' } });
    expect((await find(url, 'auto')).server).toEqual({ name: 'scripted', version: '', emulated: null });
  });

  it('leaves out what the server refuses, and is asked for completions where it has no chat', async () => {
    const noExtension = await serve({
      refuse: (_, asked) => ('ignore_eos' in asked ? { status: 400, message: 'unknown field ignore_eos' } : null),
    });
    expect(await find(noExtension.url, 'openai')).toMatchObject({ endpoint: { saysUsage: true, canIgnoreEnd: false } });
    const noChat = await serve({
      refuse: (path) => (path.includes('chat') ? { status: 400, message: 'the model has no chat template' } : null),
    });
    expect(await find(noChat.url, 'auto')).toMatchObject({ endpoint: { kind: 'openai-completions', saysUsage: true } });
  });

  it('is asked in the way that the server takes', async () => {
    const chat = { choices: [{ message: { content: 'a' }, finish_reason: 'length' }] };
    const isAsked = (name: string, { body }: TextCall) => Object.hasOwn(body, name);
    const refused = (message: string) => ({ status: 400, json: { error: { message } } });
    const newer = await textServer((call) =>
      isAsked('ignore_eos', call) || isAsked('max_tokens', call)
        ? refused('unsupported parameter')
        : { events: [{ choices: [{ delta: { content: 'a' }, finish_reason: 'length' }] }] },
    );
    expect(await find(newer.url, 'openai-chat', { model: 'm' })).toMatchObject({
      endpoint: { lengthField: 'max_completion_tokens', canIgnoreEnd: false },
    });
    const unstreamed = await textServer(({ path }) => (path === '/v1/chat/completions' ? { json: chat } : null));
    expect(await find(unstreamed.url, 'openai', { model: 'm' })).toMatchObject({
      endpoint: { isWhole: true, canIgnoreEnd: true },
    });
    expect(await find(unstreamed.url, 'openai', { model: 'm', extra: { stream: false } })).toMatchObject({
      endpoint: { isWhole: true },
    });
    expect(unstreamed.calls.at(-1)?.body).toMatchObject({ stream: false });
  });

  it('has any base, listed models or not, and a page that is missing is named', async () => {
    const reply = { events: [{ choices: [{ text: 'a', finish_reason: 'length' }] }] };
    const models = { json: { object: 'list', data: [{ id: 'm', owned_by: 'o' }] } };
    const pages: Record<string, TextReply> = { '/gate/v1beta/openai/completions': reply };
    const { url } = await textServer(({ path }) => pages[path] ?? null);
    const at = { basePath: '/gate/v1beta/openai', model: 'm' };
    const found = { endpoint: { kind: 'openai-completions', path: '/gate/v1beta/openai/completions' } };
    expect(await find(url, 'openai', at)).toMatchObject(found);
    pages['/gate/v1beta/openai/models'] = models;
    expect(await find(url, 'auto', { ...at, model: undefined })).toMatchObject({ ...found, server: { name: 'o' } });
    await expect(find(url, 'openai-responses', at)).rejects.toMatchObject({
      message: expect.stringContaining('at /gate/v1beta/openai/responses with 404'),
    });
  });

  it('is a Triton that has a model with text', async () => {
    const tensor = (name: string, datatype: string) => ({ name, datatype, shape: [1] });
    const pages: Record<string, object> = {
      '/v2': { name: 'triton', version: '2.51.0', extensions: [] },
      '/v2/models/m': {
        name: 'm',
        versions: ['1'],
        platform: 'python',
        inputs: [tensor('text_input', 'BYTES'), tensor('stream', 'BOOL')],
        outputs: [tensor('text_output', 'BYTES')],
      },
    };
    const server = createServer((request, response) => {
      const page = pages[request.url ?? ''];
      response.writeHead(page ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(page ?? {}));
    });
    const address = `127.0.0.1:${await listen(server)}`;
    cleanUps.push(() => new Promise((resolve) => server.close(resolve)));
    expect(await find(address, 'auto', { model: 'm' })).toMatchObject({
      endpoint: {
        kind: 'triton-generate',
        output: 'text_output',
        inputs: [{ name: 'text_input' }, { name: 'stream' }],
      },
      server: { name: 'triton', version: '2.51.0' },
    });
    await expect(find(address, 'auto')).rejects.toMatchObject({ code: 'USAGE', hint: 'add -m MODEL' });
  });

  it('is told apart from what is none', async () => {
    const { url } = await serve({
      models: ['a', 'b'],
      refuse: () => ({ status: 401, message: 'no key' }),
    });
    await expect(find(url, 'auto')).rejects.toMatchObject({ code: 'USAGE', hint: expect.stringContaining('a, b') });
    await expect(find(url, 'auto', { model: 'a' })).rejects.toMatchObject({
      code: 'SERVER_FAILED',
      message: expect.stringContaining('no key'),
      hint: expect.stringContaining('--token-env'),
    });
    await expect(find(await refusingUrl(), 'auto', { model: 'a' })).rejects.toMatchObject({
      code: 'SERVER_UNREACHABLE',
    });
    const page = createServer((_, response) => response.writeHead(404).end('nothing'));
    const address = `127.0.0.1:${await listen(page)}`;
    cleanUps.push(() => new Promise((resolve) => page.close(resolve)));
    await expect(find(address, 'auto', { model: 'a' })).rejects.toMatchObject({
      code: 'SERVER_FAILED',
      message: expect.stringContaining('neither an OpenAI server nor a Triton'),
    });
  });
});

describe('profile --endpoint', () => {
  it('measures tokens, prints and writes them', async () => {
    const { url, calls } = await serve();
    const directory = await scratch();
    const [json, csv] = [join(directory, 'out.json'), join(directory, 'out.csv')];
    process.env.ENDPOINT_TEST_KEY = 'secret-key';
    const said = await callCli([
      ...['profile', '--endpoint', 'openai', '-u', url, '--concurrency-range', '2', '--request-count', '40'],
      ...['--goodput', 'ttft<=60s', 'e2e:60000', '--token-env', 'ENDPOINT_TEST_KEY', '--json', json, '-f', csv],
      ...['--extra-inputs', 'temperature:0'],
    ]);
    expect(said).toMatchObject({ code: 0 });
    expect(said.stdout).toContain("Tokens (counted by the server's usage figures)");
    for (const word of ['TTFT', 'ITL', 'TPOT', 'Goodput', '100 % of the input from'])
      expect(said.stdout).toContain(word);
    const document = JSON.parse(await readFile(json, 'utf8')) as { endpoint: string; levels: Measurement[] };
    expect(document.endpoint).toBe('openai-chat');
    const { tokens, requests, errorRate } = document.levels[0] as Measurement;
    expect([requests, errorRate]).toEqual([40, 0]);
    expect(tokens).toMatchObject({
      inputTokens: { mean: 7, std: 0 },
      outputTokens: { mean: 4, min: 4, max: 4 },
      countedBy: 'usage',
      cachedShare: 1,
      cutOff: 0,
    });
    const perSecond = document.levels[0]?.throughput.value as number;
    expect(tokens?.outputTokensPerSecond.value).toBeCloseTo(4 * perSecond, 3);
    expect(tokens?.totalTokensPerSecond.value).toBeCloseTo(11 * perSecond, 3);
    expect(tokens?.goodput?.value).toBeCloseTo(perSecond, 3);
    const [head, row] = (await readFile(csv, 'utf8')).split('\n').map((line) => line.split(','));
    expect(head).toEqual(
      expect.arrayContaining(['TTFT p99', 'ITL avg', 'TPOT p50', 'Output Tokens/Second', 'Goodput']),
    );
    expect(row?.[head?.indexOf('Output Tokens') ?? 0]).toBe('4');
    expect(calls.at(-1)?.asked).toMatchObject({ temperature: 0, model: 'm' });
    expect(calls.at(-1)?.headers.authorization).toBe('Bearer secret-key');
    expect(said.stdout + said.stderr + JSON.stringify(document)).not.toContain('secret-key');
  });

  it('counts replies that are cut off as failed, and tells a server that gives no whole one', async () => {
    const cutting = await serve({
      reply: (_, call) => ({ pieces: [{ afterMs: 0, text: 'a' }], ending: call % 2 === 1 ? 'cut' : 'done' }),
    });
    const said = await callCli([
      ...['profile', '--endpoint', 'openai-chat', '-u', cutting.url, '-m', 'm', '--request-count', '30'],
    ]);
    expect(said).toMatchObject({ code: 0 });
    expect(said.stdout).toMatch(/Cut off: 15 replies/);
    expect(said.stdout).toContain('NOT COUNTED');
    let calls = 0;
    const broken = await serve({
      reply: () => ({ pieces: [{ afterMs: 0, text: 'a' }], ending: calls++ === 0 ? 'done' : 'cut' }),
    });
    const failed = await callCli(['profile', '--endpoint', 'auto', '-u', broken.url, '--request-count', '5']);
    expect(failed).toMatchObject({ code: 4, stderr: expect.stringMatching(/no complete reply.*cut-off/) });
  });

  it('takes the whole URL of a call, and says of replies that come whole what they do not have', async () => {
    const usage = { prompt_tokens: 7, completion_tokens: 3 };
    const json = { choices: [{ message: { content: 'a b c' }, finish_reason: 'length' }], usage };
    const path = '/openai/deployments/d/chat/completions?api-version=1';
    const { url } = await textServer((call) => (call.path === path ? { json } : null));
    const out = join(await scratch(), 'out.json');
    const args = ['profile', '--endpoint', 'openai', '-u', `http://${url}${path}`, '-m', 'm', '--request-count', '10'];
    const said = await callCli([...args, '--input-tokens', '4', '--json', out]);
    expect(said.code, said.stderr).toBe(0);
    expect(said.stderr + said.stdout).toContain('replies come whole, not as streams');
    expect(said.stdout).toMatch(/TTFT: avg/);
    expect(said.stdout).not.toMatch(/ITL|TPOT: avg|per user/);
    const { levels } = JSON.parse(await readFile(out, 'utf8')) as { levels: Measurement[] };
    expect(levels[0]?.tokens).toMatchObject({ outputTokens: { mean: 3 }, itlMs: { max: 0 }, tpotMs: { max: 0 } });
  });

  it.each([
    [['--endpoint', 'v1/embeddings', '-u', 'localhost:1'], 'write --endpoint embeddings'],
    [['--endpoint', 'openai', '-u', 'http://localhost:1/v1?key=1'], 'give the whole URL'],
    [['--endpoint', 'openai', '--shape', 'x:1'], '--shape does not apply to a language model'],
    [['-m', 'm', '--goodput', 'ttft:5'], '--goodput limits ttft, which tensor requests do not have'],
    [['--endpoint', 'huggingface', '-u', 'localhost:1'], "there is no endpoint 'huggingface'"],
    [['--endpoint', 'openai'], 'the address of the language model is missing'],
  ])('refuses %s', async (args, message) => {
    expect(await callCli(['profile', ...args])).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
  });
});
