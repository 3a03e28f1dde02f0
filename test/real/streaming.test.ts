import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { openGrpcLean } from '#loadgen/transports/grpc-lean.ts';
import { openGrpcStream } from '#loadgen/transports/grpc-stream.ts';
import type { InferRequest, SendOutcome, Transport } from '#loadgen/types.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { runCli } from '../support/cli.ts';
import { freshDirectory, recordsOf, summaryOf } from '../support/run-directory.ts';
import { inferRequest, sendMany } from '../support/transport-suite.ts';
import { spaceFile } from './spaces.ts';

const { grpcUrl, httpUrl, metricsUrl } = inject('realServer');
const client = connectGrpc(grpcUrl);
const options = { url: grpcUrl, timeoutMs: 10_000 };
const streams = openGrpcStream(options);

beforeAll(() => client.load('repeater'));
afterAll(async () => {
  await streams.close();
  await client.unload('repeater');
  await client.close();
});

function ask(times: number): InferRequest {
  const int32 = (name: string, value: number) => ({
    name,
    datatype: 'INT32',
    shape: [1],
    raw: new Uint8Array(Int32Array.of(value).buffer),
  });
  return { model: 'repeater', version: '', batch: 1, inputs: [int32('TIMES', times), int32('DELAY_MS', 1)] };
}

const once = async (transport: Transport, request: InferRequest): Promise<SendOutcome> =>
  (await sendMany(transport, request))[0] as SendOutcome;

describe('streams to a real Triton', () => {
  it('take any number of responses to a request, and none', async () => {
    for (const times of [0, 1, 7]) expect(await once(streams, ask(times))).toEqual({ ok: true, responses: times });
    expect(await sendMany(streams, ask(3), 32)).toEqual(Array(32).fill({ ok: true, responses: 3 }));
  });

  it('wait for the last response', async () => {
    const began = performance.now();
    expect(await once(streams, ask(30))).toEqual({ ok: true, responses: 30 });
    // The model sleeps a millisecond before each.
    expect(performance.now() - began).toBeGreaterThan(30);
  });

  it('take models that are not decoupled', async () => {
    const request = {
      model: 'sleeper',
      version: '',
      batch: 1,
      inputs: [{ name: 'INPUT', datatype: 'FP32', shape: [1, 8], raw: new Uint8Array(32) }],
    };
    expect(await sendMany(streams, request, 20)).toEqual(Array(20).fill({ ok: true, responses: 1 }));
  });

  it('tell errors, and go on', async () => {
    const failed = { ok: false, kind: 'status', status: 'STREAM_ERROR' };
    expect(await once(streams, ask(-2))).toMatchObject({ ...failed, message: 'asked to fail' });
    expect(await once(streams, inferRequest(8))).toMatchObject({
      ...failed,
      message: expect.stringMatching(/unknown/),
    });
    expect(await once(streams, ask(2))).toEqual({ ok: true, responses: 2 });
  });

  it('are what a decoupled model needs', async () => {
    const unary = openGrpcLean(options);
    expect(await once(unary, ask(1))).toMatchObject({ ok: false, kind: 'status', status: 'UNIMPLEMENTED' });
    await unary.close();
  });
});

describe('tune of a decoupled model', () => {
  const tune = async (...more: string[]) => {
    const output = await freshDirectory();
    const data = join(output, '..', 'repeater.json');
    await writeFile(
      data,
      JSON.stringify({
        data: [
          { TIMES: [2], DELAY_MS: [1] },
          { TIMES: [0], DELAY_MS: [1] },
        ],
      }),
    );
    const what = ['-m', 'repeater', '--space', await spaceFile('instances'), '--input-data', data, '-o', output];
    const measured = ['--concurrency', '4:4', '--max-trials', '1', '--precision', '50', '--sampler', 'grid'];
    return { output, outcome: await runCli(['tune', ...what, ...measured, '--metrics-url', metricsUrl, ...more]) };
  };

  it('goes over streams, and leaves none open: a model that was not loaded is unloaded afterwards', async () => {
    await client.unload('repeater');
    const { output, outcome } = await tune('-u', grpcUrl, '--streaming');
    expect(outcome, outcome.stderr).toMatchObject({ code: 0, stderr: '' });
    expect((await summaryOf(output)).best?.throughput.value).toBeGreaterThan(0);
    const measured = (await recordsOf(output)).filter((record) => record.type === 'trial-measured');
    expect(measured.flatMap(({ measurement }) => measurement.failures)).toEqual([]);
    expect((await client.index()).find(({ name }) => name === 'repeater')?.state).not.toBe('READY');
    await client.load('repeater');
  });

  it('says so when it is asked to go another way', async () => {
    expect((await tune('-u', grpcUrl)).outcome).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--streaming'),
    });
    const { outcome } = await tune('-u', httpUrl, '-i', 'http', '--control-url', grpcUrl, '--streaming');
    expect(outcome).toMatchObject({ code: 2, stderr: expect.stringContaining('-i grpc') });
  });
});
