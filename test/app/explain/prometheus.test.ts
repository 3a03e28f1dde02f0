import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type PrometheusQuery, readPrometheus } from '#app/explain/read-prometheus.ts';
import { counterMetrics, toInstanceReadings } from '#explain/prometheus-readings.ts';
import { callCli } from '../../support/call-cli.ts';
import { emulatorForTest, smallProfile } from '../../support/emulator.ts';
import { othersSend } from '../../support/other-sender.ts';
import { recordGrpc } from '../../support/recording-proxy.ts';

/** A server that answers as it is told; null keeps the connection open. */
async function serve(answer: (request: IncomingMessage) => { status?: number; headers?: object; body: string }) {
  const server = createServer((request, response) => {
    const { status = 200, headers = {}, body } = answer(request);
    response.writeHead(status, headers as Record<string, string>).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const SCRAPE_S = 15;
const NOW = 1_800_000_000;

const parametersOf = (request: IncomingMessage): URLSearchParams => new URL(request.url ?? '', 'http://x').searchParams;

/** Prometheus with counters that rise by 10 a second from the start of time. */
const answerAs = (instances: readonly string[]) => (request: IncomingMessage) => {
  const parameters = parametersOf(request);
  const query = parameters.get('query') ?? '';
  if (query.startsWith('max(')) {
    const seconds = Number(/\[(\d+)s\]/.exec(query)?.[1]);
    const result = [{ metric: {}, value: [NOW, `${Math.floor(seconds / SCRAPE_S)}`] }];
    return { body: JSON.stringify({ status: 'success', data: { resultType: 'vector', result } }) };
  }
  const [start, end, step] = ['start', 'end', 'step'].map((name) => Number(parameters.get(name))) as [
    number,
    number,
    number,
  ];
  const points = Array.from({ length: Math.floor((end - start) / step) + 1 }, (_, index) => start + index * step);
  const slope = query.includes('_us') ? 50_000 : 10;
  const result = instances.map((instance, at) => ({
    metric: { instance, model: 'm', version: '1' },
    values: points.map((second) => [second, `${Math.round((second - start) * slope) / (at + 1)}`]),
  }));
  return { body: JSON.stringify({ status: 'success', data: { resultType: 'matrix', result } }) };
};

const ask = (host: string, change: Partial<PrometheusQuery> = {}) =>
  readPrometheus(
    { url: `http://${host}`, sinceSeconds: 3600, labels: '', nowSeconds: NOW, ...change },
    new AbortController().signal,
  );

describe('Prometheus', () => {
  it('is asked for each counter, in steps of whole scrapes', async () => {
    const asked: URLSearchParams[] = [];
    const host = await serve((request) => {
      asked.push(parametersOf(request));
      return answerAs(['a:8002'])(request);
    });
    const [only] = toInstanceReadings(await ask(host, { sinceSeconds: 6 * 3600, labels: 'namespace="prod"' }));
    const ranges = asked.filter((each) => each.has('step'));
    expect(ranges.map((each) => each.get('query'))).toEqual(
      Object.values(counterMetrics).map((name) => `${name}{namespace="prod"}`),
    );
    expect([...new Set(ranges.map((each) => each.get('step')))]).toEqual(['45']);
    expect(only?.readings).toHaveLength(481);
    expect(only?.requests).toBeCloseTo(216_000);
  });

  it('is told user and password of its address, which no message repeats', async () => {
    const host = await serve(({ headers }) =>
      headers.authorization === `Basic ${Buffer.from('me:secret').toString('base64')}`
        ? { status: 403, body: 'no\u001b[2J access' }
        : { status: 500, body: 'not told' },
    );
    const error = await ask(host, { url: `http://me:secret@${host}/prometheus/` }).catch(String);
    expect(error).toContain('status 403: no [2J access');
    expect(error).not.toContain('secret');
  });

  it.each([
    ['no JSON', { body: '<html>' }, 'not an answer of Prometheus'],
    [
      'JSON of another kind',
      { body: '{"status":"success","data":{"result":[{"metric":{}}]}}' },
      'not an answer of Prometheus',
    ],
    ['nothing known', { body: '{"status":"success","data":{"result":[]}}' }, "has no 'nv_inference_request_success{}'"],
    ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1:1/' }, body: '' }, 'SERVER_UNREACHABLE'],
  ])('that answers with %s is named', async (_, answer, words) => {
    const host = await serve(() => answer);
    const error = await ask(host).catch((each: { code: string; message: string }) => `${each.code}: ${each.message}`);
    expect(error).toContain(words);
  });

  it('explains the past, and asks the server for its configs only', async () => {
    const emulator = await emulatorForTest({ profile: smallProfile() });
    const proxy = await recordGrpc(emulator.grpcUrl);
    onTestFinished(() => proxy.close());
    await othersSend('grpc', emulator.grpcUrl, 'm', 5);
    const host = await serve(answerAs(['a:8002', 'b:8002']));
    const url = `http://${host}`;
    const { code, stdout, stderr } = await callCli([
      'explain',
      '-u',
      proxy.url,
      '-i',
      'grpc',
      '--prometheus',
      url,
      '--since',
      '30m',
    ]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^m: 10 requests\/s in 30 min/m);
    expect(stderr).toContain('explains a:8002, the busiest server; others: b:8002');
    const calls = [...new Set(proxy.calls.map((call) => call.split('/').at(-1)))];
    expect(calls.filter((call) => !/^(ServerLive|ServerMetadata|ModelConfig)$/.test(call ?? ''))).toEqual([]);
  });

  it('has no use beside other sources', async () => {
    const refused = async (...args: string[]): Promise<string> => (await callCli(['explain', ...args])).stderr;
    expect(await refused('--prometheus', 'http://x', '--for', '2s')).toContain('--for has no use');
    expect(await refused('--prometheus', 'http://x', '--from', 'd')).toContain('--prometheus has no use');
    expect(await refused('--since', '1h')).toContain('--since has no use without --prometheus');
  });
});
