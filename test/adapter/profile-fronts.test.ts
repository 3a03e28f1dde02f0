import { describe, expect, it, onTestFinished } from 'vitest';
import { optionsFor } from '#adapter/triton/front-options.ts';
import { createProfile } from '#adapter/triton/profile.ts';
import { openFronts } from '#app/traffic/open-fronts.ts';
import type { TrafficOrder } from '#app/traffic/open-traffic.ts';
import { readRequests } from '#app/traffic/tensor-requests.ts';
import { realClock } from '#base/clock.ts';
import { loadProfile } from '#emulator/profile/profiles.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { stageBreakdowns } from '#profiler/stage-breakdowns.ts';
import { jointOriginal } from '#space/joint/joint-space.ts';
import { toOriginal } from '#space/model-configs.ts';
import type { Topology } from '#space/topology.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { connectHttp } from '#triton/control/connect.ts';
import { emulatorForTest } from '../support/emulator.ts';
import { fp32Input, httpInferClient } from '../support/infer-clients.ts';

const tenants: Topology = {
  fronts: [
    { model: 'forecaster', steps: [{ stage: 'forecaster' }], share: 3 },
    { model: 'detector', steps: [{ stage: 'detector' }], share: 1 },
  ],
  stages: ['forecaster', 'detector'],
};

const pipeline: Topology = {
  fronts: [{ model: 'judge', steps: [{ stage: 'tokenizer' }, { stage: 'encoder' }, { stage: 'head' }] }],
  stages: ['tokenizer', 'encoder', 'head'],
};

/** Measures the models of an emulator as they are, all fronts of the topology together. */
async function profileOf(name: string, topology: Topology) {
  const emulator = await emulatorForTest({ profile: loadProfile(name) });
  const client = connectHttp(emulator.httpUrl, {});
  const { grpcUrl: url } = emulator;
  const server = {
    protocol: 'grpc',
    url,
    name: '',
    version: '',
    emulated: null,
    controlUrl: url,
    controlProtocol: 'grpc',
  } as const;
  const configs = async (models: readonly string[]): Promise<Record<string, ModelConfig>> =>
    Object.fromEntries(await Promise.all(models.map(async (model) => [model, await client.modelConfig(model)])));
  const [members, fronts] = await Promise.all([
    configs(topology.stages),
    configs(topology.fronts.map(({ model }) => model)),
  ]);
  const spec = { seed: 1, batch: 1 };
  const asked = topology.fronts.map(async ({ model }) => {
    const config = fronts[model] as ModelConfig;
    const inputs = await readRequests(spec, { config, metadata: await client.modelMetadata(model) });
    const levels = { mode: 'concurrency', low: 1, high: 16 } as const;
    return { spec, config, inputs, levels, timeoutMs: 5000 } as const;
  });
  const [first, ...others] = await Promise.all(asked);
  const open = await openFronts(
    { client, server, tls: undefined, headers: [] },
    [first as TrafficOrder, ...others],
    'constant',
  );
  onTestFinished(async () => {
    await open.close();
    await client.close();
  });
  const profile = createProfile({
    ...open.traffic,
    topology,
    stats: client,
    clock: realClock,
    percentile: 99,
    precision: 0.3,
    windows: { minWindowMs: 150, minWindows: 2, maxWindows: 2, minRequests: 20, maxWarmUpMs: 2000 },
  });
  const candidate = jointOriginal(members, {}, topology.fronts[0]?.model as string);
  return {
    stranger: httpInferClient(emulator.httpUrl),
    measure: (value: number): Promise<Measurement> =>
      profile.measure(
        { candidate, change: 'full', loadMs: 0 },
        { mode: 'concurrency', value },
        { signal: new AbortController().signal, onProgress: () => undefined },
      ),
  };
}

describe('a profile of several models', { timeout: 180_000 }, () => {
  it('measures two tenants of one GPU at the same time, each with its own figures', async () => {
    const { measure } = await profileOf('two-tenants', tenants);
    const measurement = await measure(8);
    const [forecaster, detector] = measurement.fronts ?? [];
    expect(measurement.fronts?.map(({ model, level }) => [model, level.value])).toEqual([
      ['forecaster', 6],
      ['detector', 2],
    ]);
    expect(measurement).toMatchObject({ errorRate: 0, failures: [] });
    expect([measurement.foreignRequests, measurement.client.cpuUsPerRequest > 0]).toEqual([undefined, true]);
    const sum = (forecaster?.throughput.value ?? 0) + (detector?.throughput.value ?? 0);
    expect(measurement.throughput.value).toBeCloseTo(sum, 6);
    // Each one's executions take longer than alone: both share the GPU.
    const stages = stageBreakdowns(measurement, tenants);
    const executionMs = (model: string, size: number): number =>
      (stages.get(model)?.batches.find((batch) => batch.size === size)?.meanExecutionUs ?? 0) / 1e3;
    expect(executionMs('detector', 2)).toBeGreaterThan(1.15 * 9.2);
    // The server counted the same requests, each model's own.
    for (const front of measurement.fronts ?? []) {
      expect(Math.abs((front.server?.successCount ?? 0) - front.requests)).toBeLessThanOrEqual(2 * front.level.value);
    }
  });

  it('has the statistics of every stage of an ensemble, and sees the traffic of others inside it', async () => {
    const { measure, stranger } = await profileOf('text-pipeline', pipeline);
    const measurement = await measure(4);
    const stages = stageBreakdowns(measurement, pipeline);
    expect([...stages.keys()]).toEqual(['tokenizer', 'encoder', 'head']);
    for (const stage of stages.values()) expect(stage.successCount / measurement.requests).toBeCloseTo(1, 1);
    expect(measurement.fronts).toBeUndefined();
    expect(measurement.foreignRequests).toBeUndefined();
    let isOver = false;
    const others = Promise.all(
      [1, 2].map(async () => {
        while (!isOver) await stranger.infer('head', [fp32Input([1, 8], 'VECTOR')]);
      }),
    );
    const disturbed = await measure(4);
    isOver = true;
    await others;
    expect(Object.keys(disturbed.foreignByModel ?? {})).toEqual(['head']);
    expect(disturbed.foreignRequests).toBe(disturbed.foreignByModel?.head);
  });
});

describe('optionsFor', () => {
  const requests = { model: 'judge', version: '', batch: 2, requests: [] };
  const config = (name: string, count: number, maxBatch: number): ModelConfig => ({
    name,
    max_batch_size: maxBatch,
    dynamic_batching: {},
    instance_group: [{ kind: 'KIND_CPU', count }],
  });

  it('wakes the stage that takes the most requests to be busy', () => {
    const members = {
      tokenizer: config('tokenizer', 4, 1),
      encoder: config('encoder', 2, 16),
      head: config('head', 3, 4),
    };
    const candidate = jointOriginal(members, {}, 'judge');
    const [front] = pipeline.fronts;
    expect(optionsFor(candidate, requests, front ? { front, topology: pipeline } : null)).toMatchObject({
      instances: 2,
      requestsPerExecution: 8,
      composing: ['tokenizer', 'encoder', 'head'],
      timesPerRequest: new Map([
        ['tokenizer', 1],
        ['encoder', 1],
        ['head', 1],
      ]),
    });
  });

  it('says of a BLS model’s calls that nobody knows how many there are', () => {
    const topology: Topology = {
      fronts: [{ model: 'caller', steps: [{ stage: 'caller' }] }],
      stages: ['caller', 'called'],
      calls: { caller: ['called'] },
    };
    const candidate = jointOriginal({ caller: config('caller', 1, 8), called: config('called', 1, 8) }, {}, 'caller');
    const [front] = topology.fronts;
    const own = optionsFor(candidate, requests, front ? { front, topology } : null);
    expect(own.composing).toEqual(['called']);
    expect(own.timesPerRequest).toEqual(new Map([['called', null]]));
  });

  it('asks nothing more for one model alone', () => {
    const own = optionsFor(toOriginal(config('m', 3, 8)), requests, null);
    expect(own).toEqual({ requests, instances: 3, requestsPerExecution: 4, composing: [], timesPerRequest: new Map() });
  });
});
