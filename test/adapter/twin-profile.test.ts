import { expect, it } from 'vitest';
import { fitTwin } from '#adapter/twin/twin.ts';
import type { EmulatorProfile } from '#emulator/profile/schema.ts';
import { emulatorSchema } from '#emulator/profile/schema.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { toOriginal } from '#space/model-configs.ts';
import type { StudyRecord, StudyStarted } from '#study/records/records.ts';
import type { TrialFailure } from '#study/types.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { goalOf, measured, studyStarted, toCandidate } from '../study/builders.ts';
import { smallProfile } from '../support/emulator.ts';
import { VirtualServer } from '../support/virtual-server.ts';

interface Tried {
  readonly config: ModelConfig;
  readonly measurements?: readonly Measurement[];
  readonly change?: 'none' | 'in-place' | 'full';
  readonly loadMs?: number;
  readonly failure?: TrialFailure;
}

const at = '2026-01-01T00:00:00.000Z';
const batching = { dynamic_batching: {} };
const device = { kind: 'gpu', name: 'GPU', memory_mib: 8000, power_w: { idle: 10, busy: 100 } };
const server = new VirtualServer(
  smallProfile({ a: 4, b: 0.5, config: batching, law: { interference: { per_instance: 0.2 } } }),
);

const withInstances = (count: number, more: ModelConfig = {}): ModelConfig => ({
  ...server.original,
  instance_group: [{ kind: 'KIND_CPU', count }],
  ...more,
});

function study(tried: readonly Tried[], started: Partial<StudyStarted> = {}): StudyRecord[] {
  const trials = tried.flatMap(({ config, measurements = [], change = 'full', loadMs = 0, failure }, trial) => {
    const records: StudyRecord[] = [
      { type: 'trial-started', at, trial, role: 'search', candidate: toCandidate(config) },
    ];
    if (!failure) records.push({ type: 'trial-applied', at, trial, change, loadMs });
    records.push(...measurements.map((measurement) => ({ type: 'trial-measured', at, trial, measurement }) as const));
    const [chosen, feasible] = [measurements.length > 0 ? 0 : null, !failure];
    records.push({ type: 'trial-finished', at, trial, chosen, feasible, failure: failure ?? null });
    return records;
  });
  return [studyStarted(goalOf(20), { original: toOriginal(server.original), ...started }), ...trials];
}

const usual: Tried = {
  config: server.original,
  change: 'none',
  measurements: [1, 8, 32].map((level) => server.measure(server.original, level)),
};
const loaded = (config: ModelConfig, more: Partial<Tried> = {}): Tried => ({
  config,
  measurements: [server.measure(config, 16)],
  ...more,
});
const refusedWith = (kind: TrialFailure['kind'], reason = 'CUDA out of memory'): Partial<Tried> => ({
  failure: { kind, reason },
});
const twin = (tried: readonly Tried[], started: Partial<StudyStarted> = {}): EmulatorProfile =>
  emulatorSchema.parse(fitTwin(study(tried, started)));
const modelOf = (profile: EmulatorProfile) => profile.models[0] as EmulatorProfile['models'][number];

it('serves the original config with the law that was measured, and names where it is from', () => {
  const profile = twin([usual, loaded(withInstances(3))]);
  const { config, law, arms } = modelOf(profile);
  expect(config).toEqual({ ...server.original, name: 'm' });
  expect(profile).toMatchObject({ name: 'twin-of-m', suggested_latency_budget_ms: 20, device: { kind: 'cpu' } });
  expect(profile.source).toMatch(/to 4 measurements .*sampler grid, seed 1/);
  for (const [batchSize, ms] of law.execution_ms)
    if (batchSize <= 8) expect(ms / (4 + 0.5 * batchSize)).toBeCloseTo(1, 1);
  expect(law.interference.per_instance).toBeCloseTo(0.2, 1);
  expect(arms).toEqual([]);
  expect(JSON.stringify(twin([usual, loaded(withInstances(3))]))).toBe(JSON.stringify(profile));
});

it('takes as long to load as the server did: anew, to add instances, and for each that is removed', () => {
  const threads = { parameters: { threads: { string_value: '2' } } };
  const profile = twin([
    usual,
    loaded(withInstances(2), { change: 'in-place', loadMs: 300 }),
    loaded(withInstances(4), { change: 'in-place', loadMs: 500 }),
    loaded(withInstances(1), { change: 'in-place', loadMs: 600 }),
    loaded(withInstances(1, { max_batch_size: 4 }), { loadMs: 2000 }),
    loaded(withInstances(1, threads), { loadMs: 9000 }),
  ]);
  expect(modelOf(profile).load).toEqual({ full_s: 2, add_s: 0.4, remove_s: 0.2 });
  expect(modelOf(profile).arms).toMatchObject([{ when: { 'parameters.threads.string_value': '2' }, load_s: 9 }]);
});

it('has an arm for a variant whose executions take another time, and none for one that is alike', () => {
  const variant = (count: string): ModelConfig =>
    withInstances(1, { parameters: { threads: { string_value: count } } });
  const slow = new VirtualServer(smallProfile({ a: 8, b: 1, config: batching }));
  const levels = [1, 8, 32];
  const { arms, law } = modelOf(
    twin([
      usual,
      { config: variant('1'), measurements: levels.map((level) => slow.measure(variant('1'), level)) },
      { config: variant('4'), measurements: levels.map((level) => server.measure(variant('4'), level)) },
    ]),
  );
  expect(arms.map(({ when }) => when)).toEqual([{ 'parameters.threads.string_value': '1' }]);
  expect(arms[0]?.execution_ms?.find(([size]) => size === 8)?.[1]).toBeCloseTo(16, 0);
  expect(law.execution_ms.find(([size]) => size === 8)?.[1]).toBeCloseTo(8, 0);
});

it('refuses what ran out of memory and what did not start, and takes what did', () => {
  const large = { max_batch_size: 64 };
  const memory = twin([
    usual,
    loaded(withInstances(4)),
    loaded(withInstances(2, large)),
    { config: withInstances(4, large), ...refusedWith('out-of-memory') },
  ]);
  const { model_mib, instance_mib, sample_mib } = modelOf(memory).memory;
  const needed = (instances: number, batch: number): number =>
    model_mib + instances * (instance_mib + batch * sample_mib);
  for (const [instances, batch] of [
    [4, 8],
    [2, 64],
  ] as const)
    expect(needed(instances, batch)).toBeLessThanOrEqual(memory.device.memory_mib);
  expect(needed(4, 64)).toBeGreaterThan(memory.device.memory_mib);
  const instances = twin([
    usual,
    loaded(withInstances(2)),
    { config: withInstances(4), ...refusedWith('init-failed') },
  ]);
  expect(modelOf(instances).max_instances).toBe(3);
  expect(modelOf(memory).max_instances).toBeUndefined();
});

it("repeats the server's words for a variant that never loaded, and says which refusal it cannot repeat", () => {
  const reason = "load failed for model 'm': version 1 is at UNAVAILABLE state: Internal: threads must be positive;\n";
  const zero = withInstances(1, { parameters: { threads: { string_value: '0' } } });
  const once = { config: withInstances(1, { max_batch_size: 2 }), ...refusedWith('init-failed', 'a hiccup') };
  const profile = twin([usual, { config: zero, ...refusedWith('init-failed', reason) }, once]);
  expect(modelOf(profile).arms).toMatchObject([
    { when: { 'parameters.threads.string_value': '0' }, refuses: 'threads must be positive' },
  ]);
  expect(profile.source).toContain('Not in it: the refusal of trial 2 (init-failed)');
});

it('has the memory and the power that a GPU reported', () => {
  const gpu = new VirtualServer(
    smallProfile({
      config: { ...batching, instance_group: [{ kind: 'KIND_GPU', count: 1, gpus: [0] }] },
      profile: { device },
    }),
  );
  const reporting = (count: number, batch: number, watts: number): Tried => {
    const group = { instance_group: [{ kind: 'KIND_GPU', count, gpus: [0] }], max_batch_size: batch } as const;
    const config = { ...gpu.original, ...group };
    const gpuMemoryMiB = 500 + count * (200 + batch * 10);
    const gpus = [{ uuid: 'GPU-1', memoryTotalBytes: 8000 * 2 ** 20 }];
    return { config, measurements: [{ ...gpu.measure(config, 8), device: { gpuMemoryMiB, gpuPowerW: watts, gpus } }] };
  };
  const profile = twin([reporting(1, 8, 60), reporting(2, 8, 90), reporting(1, 32, 75), reporting(3, 16, 120)], {
    original: toOriginal(gpu.original),
  });
  expect(profile.device).toEqual({
    count: 1,
    kind: 'gpu',
    name: 'GPU of the twin',
    memory_mib: 8000,
    power_w: { idle: 60, busy: 120 },
  });
  const { model_mib, instance_mib, sample_mib } = modelOf(profile).memory;
  expect([model_mib / 500, instance_mib / 200, sample_mib / 10].map((ratio) => Math.round(ratio * 10))).toEqual([
    10, 10, 10,
  ]);
});

it('brings answers as late as a far network does, and an instance back as late as it was', () => {
  const far = new VirtualServer(smallProfile({ a: 4, b: 0.5, config: batching, model: { network_ms: 20 } }));
  const measurements = [1, 8, 32].map((level) => far.measure(far.original, level));
  expect(modelOf(twin([{ config: far.original, measurements }])).network_ms / 20).toBeCloseTo(1, 1);
  // Nobody is nearer than beside the server: those answers left before the statistics' end.
  expect(modelOf(twin([usual]))).toMatchObject({ network_ms: 0, law: { answer_lead_ms: 0.3 } });
  // Full batches of 8 every 8 ms by the statistics, but only every 10 ms by the clock; some 0.1 ms
  // the emulator needs itself.
  const late = usual.measurements?.map((one) => ({
    ...one,
    throughput: { ...one.throughput, value: 0.8 * one.throughput.value },
  }));
  expect(modelOf(twin([{ ...usual, measurements: late ?? [] }])).law.turnaround_ms).toBeCloseTo(
    2 - 0.03 - 8 * 0.012,
    2,
  );
});

it.each<[string, readonly Tried[], Partial<StudyStarted>, RegExp]>([
  ['nothing was measured', [{ config: server.original }], {}, /no measurements/],
  [
    'the server gave no statistics',
    [{ config: server.original, measurements: [measured(4, 100, 5)] }],
    {},
    /none of its 1 measurements/,
  ],
  [
    'its levels are request rates',
    [
      {
        config: server.original,
        measurements: [{ ...server.measure(server.original, 4), level: { mode: 'request-rate', value: 50 } }],
      },
    ],
    { levels: { mode: 'request-rate', low: 1, high: 100 } },
    /request rates/,
  ],
  [
    'the model batches sequences',
    [usual],
    { original: toOriginal({ ...server.original, sequence_batching: { direct: {} } }) },
    /sequences/,
  ],
  [
    'the config names no backend',
    [usual],
    { original: toOriginal({ ...server.original, backend: '' }) },
    /config\.backend/,
  ],
  [
    'the model runs on two GPUs',
    [usual],
    { original: toOriginal({ ...server.original, instance_group: [{ kind: 'KIND_GPU', gpus: [0, 1] }] }) },
    /another GPU than the first/,
  ],
])('is refused with its reason when %s', (_, tried, started, reason) => {
  expect(() => fitTwin(study(tried, started))).toThrow(expect.objectContaining({ code: 'UNSUPPORTED' }));
  expect(() => fitTwin(study(tried, started))).toThrow(reason);
});
