import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { realClock } from '#base/clock.ts';
import { ClosedLoop } from '#loadgen/closed-loop.ts';
import { readInputs } from '#loadgen/inputs.ts';
import { Recorder } from '#loadgen/recorder.ts';
import { replyCheck } from '#loadgen/reply-check.ts';
import { requestCycle } from '#loadgen/request-turns.ts';
import { Sequences } from '#loadgen/sequences.ts';
import { openTransport } from '#loadgen/transports/open.ts';
import type { InferRequest, ReplyOutputs } from '#loadgen/types.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { callCli } from '../support/call-cli.ts';
import { freshDirectory } from '../support/run-directory.ts';

const { grpcUrl, httpUrl } = inject('realServer');
const model = 'running_sum';
const client = connectGrpc(grpcUrl);
beforeAll(() => client.load(model));
afterAll(() => client.close());

/** Two streams with the sums that a model gives that sees each sequence whole and in order. */
async function dataFile(): Promise<string> {
  const file = join(await freshDirectory(), 'data.json');
  const streams = [
    [1, 2, 3, 4, 5],
    [100, 10, 1],
  ];
  const sums = streams.map((values) => values.map((_, index) => values.slice(0, index + 1).reduce((a, b) => a + b)));
  const steps = (name: string, lists: number[][]) => lists.map((list) => list.map((value) => ({ [name]: [value] })));
  await writeFile(file, JSON.stringify({ data: steps('INPUT', streams), validation_data: steps('SUM', sums) }));
  return file;
}

describe.each(['grpc', 'http'] as const)('sequences on a real Triton over %s', (protocol) => {
  it('are whole, in order and ended', async () => {
    const [metadata, config] = [await client.modelMetadata(model), await client.modelConfig(model)];
    const inputs = await readInputs(metadata, config, { batch: 1, paths: [await dataFile()] });
    const live: number[] = [];
    const right = replyCheck(0);
    const check = (request: InferRequest, replies: readonly ReplyOutputs[]) => {
      live.push(replies[0]?.find(({ name }) => name === 'LIVE')?.raw[0] as number);
      return right(request, replies);
    };
    const url = protocol === 'grpc' ? grpcUrl : httpUrl;
    const transport = openTransport(protocol, { url, timeoutMs: 10_000, check });
    const rule = { variation: 0, ids: { low: 5, high: 20 }, seed: 1 };
    const sequences = new Sequences(transport, inputs, rule);
    const recorder = new Recorder();
    const loop = new ClosedLoop(sequences, { nextRequest: requestCycle(sequences, inputs) }, recorder, realClock);
    recorder.start({ lengthNs: 1e6, minRequests: 1 }, () => undefined);
    loop.setConcurrency(6);
    await expect.poll(() => loop.sent, { timeout: 10_000 }).toBeGreaterThan(200);
    const [left] = await Promise.all([loop.drain(5000), sequences.finish(5000, realClock)]);
    expect(left).toBe(0);
    expect(recorder.failedSoFar).toBe(0);
    expect(Math.max(...live)).toBe(6);
    // The last replies are those that ended the last sequences.
    expect(Math.min(...live.slice(-6))).toBe(0);
    expect(sequences.live).toBe(0);
    await transport.close();
  });
});

it('requests of an iterative model are independent, and each time it executes one is no other client', async () => {
  await client.load('countdown');
  const options = [
    '-m',
    'countdown',
    '-u',
    grpcUrl,
    '-i',
    'grpc',
    '--concurrency-range',
    '4',
    '--request-count',
    '200',
  ];
  const file = join(await freshDirectory(), 'levels.json');
  expect(await callCli(['profile', ...options, '--json', file])).toMatchObject({ code: 0, stderr: '' });
  const [level] = JSON.parse(await readFile(file, 'utf8')).levels;
  expect(level).toMatchObject({ failures: [], server: null, serverNote: expect.stringContaining('iterative model') });
  expect(level).not.toHaveProperty('foreignRequests');
});
