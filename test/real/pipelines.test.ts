import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { LaunchedServer } from '#launch/types.ts';
import { openTransport } from '#loadgen/transports/open.ts';
import type { ReplyOutputs } from '#loadgen/types.ts';
import { compareConfigs } from '#triton/config/comparison.ts';
import { connectGrpc, connectHttp } from '#triton/control/connect.ts';
import type { TritonClient } from '#triton/types.ts';
import { blsCallsSuite } from '../support/bls-calls-suite.ts';
import { runCli } from '../support/cli.ts';
import { ensembleControlSuite } from '../support/ensemble-control-suite.ts';
import { ensembleLoadsSuite } from '../support/ensemble-loads-suite.ts';
import { grpcInferClient, type InferClient } from '../support/infer-clients.ts';
import { startRealTriton } from '../support/real-triton.ts';
import { freshDirectory, summaryOf } from '../support/run-directory.ts';
import { sendMany } from '../support/transport-suite.ts';

const fronts = ['judge', 'find_and_name', 'tenant_large', 'tenant_small'];
const members = ['tokenizer', 'encoder', 'head', 'detector', 'classifier'];
let server: LaunchedServer;
let client: TritonClient;
let twin: TritonClient;
let traffic: InferClient;

beforeAll(async () => {
  // All of these configs are whole, and to complete them would take most of the time of each load.
  const extraArgs = ['--disable-auto-complete-config'];
  // What a BLS model calls is not loaded with it.
  const loadModels = [...fronts, 'detector', 'classifier'];
  server = await startRealTriton(inject('realServer').modelRepository, { loadModels, extraArgs });
  [client, twin, traffic] = [connectGrpc(server.grpcUrl), connectHttp(server.httpUrl), grpcInferClient(server.grpcUrl)];
});
afterAll(async () => {
  await Promise.all([client.close(), twin.close(), traffic.close()]);
  await server.stop();
});

/** The values that a model gives for 1, 2, … in every sample, over gRPC. */
async function answer(model: string, batch: number): Promise<number[]> {
  let values: number[] = [];
  const check = (_: unknown, [reply]: readonly ReplyOutputs[]): null => {
    const raw = Buffer.from(reply?.[0]?.raw ?? []);
    values = Array.from({ length: raw.length / 4 }, (__, index) => raw.readFloatLE(4 * index));
    return null;
  };
  const transport = openTransport('grpc', { url: server.grpcUrl, timeoutMs: 10_000, check });
  const raw = Buffer.alloc(batch * 32);
  for (let index = 0; index < batch * 8; index++) raw.writeFloatLE((index % 8) + 1, 4 * index);
  const inputs = [{ name: 'INPUT', datatype: 'FP32', shape: [batch, 8], raw }];
  const ends = await sendMany(transport, { model, version: '', batch, inputs });
  await transport.close();
  expect(ends).toMatchObject([{ ok: true }]);
  return values;
}

const counts = async (model: string) => {
  const [one] = await client.statistics(model);
  return {
    inferences: one?.inferenceCount ?? 0,
    executions: one?.executionCount ?? 0,
    inferNs: one?.computeInfer.ns ?? 0,
  };
};

/** What one answer adds to the statistics of these models. */
async function added(model: string, batch: number, parts: readonly string[]) {
  const names = [model, ...parts];
  const before = await Promise.all(names.map(counts));
  await answer(model, batch);
  // An ensemble is counted just after its answer has left.
  await expect.poll(async () => (await counts(model)).inferences).toBe((before[0]?.inferences ?? 0) + batch);
  const after = await Promise.all(names.map(counts));
  return after.map(({ inferences, executions, inferNs }, index) => ({
    inferences: inferences - (before[index]?.inferences ?? 0),
    executions: executions - (before[index]?.executions ?? 0),
    inferNs: inferNs - (before[index]?.inferNs ?? 0),
  }));
}

describe('the pipelines and tenants of the suite on a real Triton', () => {
  it('are ready, and compute what they should', async () => {
    expect(await Promise.all([...fronts, ...members].map((name) => client.modelReady(name)))).not.toContain(false);
    const ones = [1, 2, 3, 4, 5, 6, 7, 8];
    const twice = [...ones, ...ones];
    expect(await answer('judge', 2)).toEqual(twice.map((value) => (value + 1) * 2 + 5));
    expect(await answer('find_and_name', 2)).toEqual(twice.map((value) => (value + 1) * 2));
    expect(await answer('tenant_large', 1)).toEqual(ones.map((value) => value + 1));
    expect(await answer('tenant_small', 1)).toEqual(ones.map((value) => value + 2));
  });

  it('count in the statistics of each member; an ensemble adds up what its members computed', async () => {
    const [judge, ...parts] = await added('judge', 3, ['tokenizer', 'encoder', 'head']);
    for (const part of [judge, ...parts]) expect(part).toMatchObject({ inferences: 3, executions: 1 });
    const sumNs = parts.reduce((sum, { inferNs }) => sum + inferNs, 0);
    expect((judge?.inferNs ?? 0) / sumNs).toBeCloseTo(1, 2);
    // Nothing is sent meanwhile: both protocols tell the same.
    expect(await twin.statistics('judge')).toEqual(await client.statistics('judge'));
  });

  it('count the calls of BLS, and the wait for them as the compute time of the caller', async () => {
    const [front, detector, classifier] = await added('find_and_name', 2, ['detector', 'classifier']);
    expect(front).toMatchObject({ inferences: 2, executions: 1 });
    expect(detector).toMatchObject({ inferences: 2, executions: 1 });
    expect(classifier).toMatchObject({ inferences: 6, executions: 1 });
    expect(front?.inferNs).toBeGreaterThan((detector?.inferNs ?? 0) + (classifier?.inferNs ?? 0));
  });
});

describe('two models on a device that takes turns', () => {
  it('wait for each other inside their executions', async () => {
    const send = async (model: string, requests: number): Promise<void> => {
      const raw = Buffer.alloc(32);
      const inputs = [{ name: 'INPUT', datatype: 'FP32', shape: [1, 8], raw }];
      for (let index = 0; index < requests; index++) await traffic.infer(model, inputs);
    };
    const meanNs = async (others: Promise<void>): Promise<number> => {
      const before = await counts('tenant_small');
      await send('tenant_small', 20);
      const after = await counts('tenant_small');
      await others;
      return (after.inferNs - before.inferNs) / (after.executions - before.executions);
    };
    const alone = await meanNs(Promise.resolve());
    const together = await meanNs(send('tenant_large', 40));
    // Up to 6.2 ms of waiting before 1.1 ms of its own.
    expect(together / alone).toBeGreaterThan(1.5);
  });
});

describe('a study of several models on a real Triton', () => {
  it.each([
    [
      'an ensemble',
      ['-m', 'judge'],
      ['tokenizer', 'encoder', 'head'],
      { 'encoder/max_batch_size': 8, 'head/instances': 2 },
    ],
    [
      'a BLS model',
      ['-m', 'find_and_name', '--bls-composing', 'detector,classifier'],
      ['find_and_name', 'detector', 'classifier'],
      { 'find_and_name/instances': 2, 'classifier/instances': 2 },
    ],
  ])('tunes %s with its models, and leaves all as they were', async (_, target, stages, candidate) => {
    const before = await Promise.all([...fronts, ...members].map((name) => client.modelConfig(name)));
    const output = await freshDirectory();
    const list = join(output, 'candidates.json');
    await writeFile(list, JSON.stringify([candidate]));
    const where = ['-u', server.grpcUrl, '--metrics-url', server.metricsUrl, '-o', join(output, 'run')];
    const how = ['--sampler', 'manual', '--candidates', list, '--concurrency', '4:4', '--precision', '30'];
    const { code, stdout, stderr } = await runCli(['tune', ...target, ...where, ...how, '--time-budget', '60s']);
    expect([code, stderr], stdout).toEqual([0, '']);
    const { topology, counts, restored } = await summaryOf(join(output, 'run'));
    expect(topology?.stages).toEqual(stages);
    expect(counts).toMatchObject({ trials: 2, failed: 0 });
    expect(restored).toMatchObject({ verified: true });
    const after = await Promise.all([...fronts, ...members].map((name) => client.modelConfig(name)));
    expect(after.map((config, index) => compareConfigs(before[index] ?? {}, config))).toEqual(before.map(() => []));
  });
});

describe('the calls of a BLS model on a real Triton', () => {
  const called = ['classifier', 'detector'];
  blsCallsSuite(async () => ({
    url: server.grpcUrl,
    client,
    front: 'find_and_name',
    called,
    from: 'the statistics',
  }));
});

const startEnsemble = async () => {
  const input = { name: 'INPUT', datatype: 'FP32', shape: [1, 8], raw: Buffer.alloc(32) };
  const infer = async (): Promise<string> => (await traffic.infer('judge', [input])).message;
  return { client, infer, ensemble: 'judge', member: 'encoder', neighbour: 'tokenizer', stranger: 'tenant_small' };
};

ensembleLoadsSuite('an ensemble on a real Triton', startEnsemble);
ensembleControlSuite('a pipeline on a real Triton', startEnsemble);
