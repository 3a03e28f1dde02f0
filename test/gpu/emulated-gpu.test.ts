import { beforeAll, describe, expect, it } from 'vitest';
import { createControl } from '#adapter/triton/control.ts';
import { createProfile } from '#adapter/triton/profile.ts';
import { realClock } from '#base/clock.ts';
import { startEmulator } from '#emulator/start-emulator.ts';
import { prepareInputs } from '#loadgen/inputs.ts';
import { openTransport } from '#loadgen/transports/open.ts';
import { metricsProbe } from '#profiler/devices/device-probe.ts';
import { toModelConfig, toOriginal } from '#space/model-configs.ts';
import { spaceFromJson } from '#space/source/load.ts';
import type { Candidate } from '#space/types.ts';
import { listAttempts } from '#study/analysis/memory-attempts.ts';
import { measuredFootprint } from '#study/analysis/memory-footprint.ts';
import type { StudyState } from '#study/records/state.ts';
import { pruneReason } from '#study/search/pruning.ts';
import { manualSampler } from '#study/search/samplers/manual.ts';
import { viewSpace } from '#study/search/samplers/space-view.ts';
import type { Constraint } from '#study/types.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { goalOf, studyStarted } from '../study/builders.ts';
import { smallProfile } from '../support/emulator.ts';
import { play } from '../tuner/world.ts';

const memory = { model_mib: 100, instance_mib: 200, sample_mib: 5 };
const mibOf = (instances: number, batch: number): number => 100 + instances * (200 + 5 * batch);
const TOTAL_MIB = 900;
const power = { idle: 20, busy: 220 };
/**
 * Most of a single request's way is outside the GPU, so that one client leaves it idle at times.
 */
const profile = smallProfile({
  a: 3,
  b: 0.1,
  config: { max_batch_size: 4, instance_group: [{ count: 1, kind: 'KIND_GPU', gpus: [0] }], dynamic_batching: {} },
  law: { interference: { per_instance: 0.3 } },
  model: { memory, network_ms: 12 },
  profile: { device: { kind: 'gpu', name: 'GPU', memory_mib: TOTAL_MIB, power_w: power } },
});

type Size = { readonly instances: number; readonly max_batch_size: number };

const parameters = { instances: [1, 2, 3, 4], max_batch_size: [4, 16] };
const viewOf = (original: Candidate) => viewSpace(spaceFromJson({ name: 'gpu', parameters }), original);

/**
 * Tunes the emulated model as `tune` does, without a final: the original config, then these sizes,
 * at the levels of the range.
 */
async function tuned(sizes: readonly Size[], low: number, high: number, constraint: Constraint): Promise<StudyState> {
  const emulator = await startEmulator({ profile });
  const client = connectGrpc(emulator.grpcUrl);
  const [original, metadata] = await Promise.all([client.modelConfig('m'), client.modelMetadata('m')]);
  const transport = openTransport('grpc', { url: emulator.grpcUrl, timeoutMs: 10_000 });
  try {
    const view = viewOf(toOriginal(original));
    const inputs = prepareInputs(metadata, original, { seed: 1, batch: 1, kind: 'zero' });
    const goal = goalOf(null, { constraints: [constraint] });
    const {
      type: _,
      at: __,
      ...study
    } = studyStarted(goal, {
      model: 'm',
      original: toOriginal(original),
      levels: { mode: 'concurrency', low, high },
    });
    const { state, error } = await play({
      goal,
      plan: { study, finalRounds: 0 },
      parts: {
        build: view.build,
        control: createControl(client, [{ model: 'm', config: original, wasLoaded: true }], {
          clock: realClock,
          restore: 'config',
          mayUnload: true,
          loadTimeoutMs: 10_000,
          settleTimeoutMs: 10_000,
        }),
        profile: createProfile({
          transport,
          requestsFor: (candidate) => inputs.forConfig(toModelConfig(candidate)),
          stats: client,
          clock: realClock,
          percentile: 99,
          precision: 0.2,
          windows: { minRequests: 20, maxWindows: 4, maxWarmUpMs: 1000 },
          deviceProbe: metricsProbe(emulator.metricsUrl, 'm'),
        }),
        sampler: manualSampler(view, sizes),
        clock: realClock,
      },
    });
    if (!state) throw error;
    return state;
  } finally {
    await transport.close();
    await client.close();
    await emulator.close();
  }
}

describe('on an emulated GPU', () => {
  const sizes = [
    { instances: 2, max_batch_size: 4 },
    { instances: 3, max_batch_size: 4 },
    { instances: 1, max_batch_size: 16 },
    { instances: 3, max_batch_size: 16 },
    { instances: 4, max_batch_size: 4 },
    { instances: 4, max_batch_size: 16 },
  ];
  let state: StudyState;
  beforeAll(async () => {
    state = await tuned(sizes, 32, 32, { metric: 'gpu-memory', relation: '<=', value: 700 });
  }, 180_000);

  it('every measurement has its memory, utilisation and power', () => {
    const measurements = state.trials.flatMap((trial) => trial.measurements);
    expect(measurements.map(({ device }) => device.gpuMemoryMiB)).toEqual([
      mibOf(1, 4),
      mibOf(2, 4),
      mibOf(3, 4),
      mibOf(1, 16),
    ]);
    for (const { device } of measurements) {
      const { gpuUtilizationPercent = 0, gpuPowerW, gpus } = device;
      expect(gpuUtilizationPercent).toBeGreaterThan(0);
      expect(gpuPowerW).toBeCloseTo(power.idle + ((power.busy - power.idle) * gpuUtilizationPercent) / 100, 3);
      expect(gpus).toMatchObject([{ memoryTotalBytes: TOTAL_MIB * 2 ** 20 }]);
    }
  });

  it('the memory of an instance, and of a place in its batches, is learnt from that', () => {
    const learnt = measuredFootprint(listAttempts(state));
    for (const part of ['model_mib', 'instance_mib', 'sample_mib'] as const)
      expect((learnt?.[part] ?? 0) / memory[part]).toBeCloseTo(1, 1);
  });

  it('a load that runs out of memory is a failed trial, and what must run out of it is not even tried', () => {
    expect(Math.min(mibOf(3, 16), mibOf(4, 4))).toBeGreaterThan(TOTAL_MIB);
    expect(state.trials.map(({ failure }) => failure?.kind ?? null)).toEqual([null, null, null, null, 'out-of-memory']);
    const reasonFor = (size: Size): string | null => {
      const outcome = viewOf(state.started.original).build({ ...size });
      return outcome.legal ? pruneReason(outcome.candidate, state.trials) : null;
    };
    // By what an instance was seen to take, although no load like it was refused; and by the
    // refusal.
    const figures = `about ${mibOf(4, 4)} of ${TOTAL_MIB} MiB`;
    expect(reasonFor({ instances: 4, max_batch_size: 4 })).toBe(
      `needs ${figures} of GPU memory, as trials 0 and 2 show`,
    );
    expect(reasonFor({ instances: 4, max_batch_size: 16 })).toMatch(/the memory that ran out as in trial 4/);
    expect(reasonFor({ instances: 2, max_batch_size: 16 })).toBeNull();
  });

  it('a constraint on its memory rules out what needs more', () => {
    expect(state.trials.slice(0, 4).map(({ feasible }) => feasible)).toEqual([true, true, false, true]);
    expect(mibOf(3, 4)).toBeGreaterThan(700);
    expect([0, 1, 3]).toContain(state.best?.number);
    expect(state.restored?.verified).toBe(true);
  });

  it('a constraint on its power lowers the load', async () => {
    const limited = await tuned([], 1, 16, { metric: 'gpu-power', relation: '<=', value: 150 });
    const [baseline] = limited.trials;
    const measurements = baseline?.measurements ?? [];
    const within = measurements.filter(({ device }) => (device.gpuPowerW ?? 0) <= 150);
    expect(within.length).toBeGreaterThan(0);
    expect(within.length).toBeLessThan(measurements.length);
    const chosen = measurements[baseline?.chosen ?? -1];
    expect(chosen?.throughput.value).toBe(Math.max(...within.map(({ throughput }) => throughput.value)));
  }, 180_000);
});
