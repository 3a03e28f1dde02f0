import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '#base/json.ts';
import { gpuMetrics, gpuTotals } from '#profiler/devices/gpu-metrics.ts';
import { parsePrometheus } from '#profiler/devices/prometheus.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { serverBreakdown } from '#profiler/server-breakdown.ts';
import { builtInMetrics } from '#study/goal/metrics/registry.ts';
import { faultOfJson, formatJson } from '#study/records/journal-text.ts';
import { readStatistics } from '#triton/control/statistics.ts';
import { readServerMetadata } from '#triton/wire/replies.ts';
import { measured } from '../study/builders.ts';
import { FUZZ_TIMEOUT_MS, fuzz } from '../support/fuzz.ts';

/** What a server may give as a figure: over HTTP any JSON. */
const odd: fc.Arbitrary<Json> = fc.constantFrom<Json>(
  ...[0, 1, 7, 1.5, -1, -0.5, 1e300, -1e300, 2 ** 53, 2 ** 53 + 2, 2 ** 64, 1e-300],
  ...['3', '2.5', '-4', '1e400', 'NaN', 'x', '', '18446744073709551615', null, true],
  ...[[], {}, [1]],
);
const duration = fc.record({ count: odd, ns: odd });
const statistics = fc.record({
  name: fc.constantFrom('m', 'x'.repeat(5_000)),
  version: fc.constantFrom('1', '2'),
  inference_count: odd,
  execution_count: odd,
  inference_stats: fc.record(
    Object.fromEntries(
      ['success', 'fail', 'queue', 'compute_input', 'compute_infer', 'compute_output', 'cache_hit', 'cache_miss'].map(
        (name) => [name, duration],
      ),
    ),
  ),
  batch_stats: fc.array(fc.record({ batch_size: odd, compute_infer: duration }), { maxLength: 3 }),
});

const faultOf = (measurement: Measurement): string | null => {
  const record = { type: 'trial-measured', at: '2026-01-01T00:00:00.000Z', trial: 0, measurement } as const;
  return faultOfJson(formatJson(record), builtInMetrics);
};

describe('whatever a server gives as a figure, the journal can be read with it', () => {
  it('in its statistics', { timeout: FUZZ_TIMEOUT_MS }, () => {
    let usable = 0;
    fuzz(fc.tuple(statistics, statistics), ([before, after]) => {
      const [first, second] = [before, after].map((entry) => readStatistics({ model_stats: [entry] }));
      const outcome = serverBreakdown(first ?? [], second ?? [], '');
      if (!outcome.usable) return;
      usable++;
      expect(faultOf({ ...measured(1, 100, 5), server: outcome.breakdown })).toBeNull();
    });
    expect(usable).toBeGreaterThan(0);
  });

  it('on its metrics page', { timeout: FUZZ_TIMEOUT_MS }, () => {
    const value = fc.constantFrom('0', '0.5', '-3', '1e400', 'NaN', '+Inf', '-Inf', '1e300', '8e9');
    const name = fc.constantFrom('nv_gpu_utilization', 'nv_gpu_power_usage', 'nv_gpu_memory_used_bytes');
    const uuid = fc.constantFrom('GPU-1', 'GPU-2', 'x'.repeat(2_000));
    fuzz(fc.array(fc.tuple(name, uuid, value), { maxLength: 8 }), (samples) => {
      const page = samples.map(([each, id, number]) => `${each}{gpu_uuid="${id}"} ${number}`).join('\n');
      const gpus = gpuMetrics(parsePrometheus(page));
      for (const { uuid: kept, ...figures } of gpus) {
        expect(kept.length).toBeLessThanOrEqual(1024);
        for (const figure of Object.values(figures)) expect(figure).toBeGreaterThanOrEqual(0);
      }
      expect(faultOf({ ...measured(1, 100, 5), device: { ...gpuTotals(gpus), gpus } })).toBeNull();
    });
  });
});

it('a name of 5 MB is cut', () => {
  const { name, version } = readServerMetadata({ name: 'x'.repeat(5e6), version: 'y'.repeat(5e6) });
  expect([name.length, version.length]).toEqual([1024, 1024]);
});

it.each([
  ['a GPU', { device: { gpus: [{ uuid: 'GPU-1', powerW: 'much' }] } }, 'device.gpus.0.powerW'],
  [
    'an agent',
    { client: { ...measured(1, 100, 5).client, agents: [{ address: 'a:1', cores: 'x' }] } },
    'client.agents.0',
  ],
  ['a request rate', { openLoop: { achievedRate: 'fast' } }, 'openLoop'],
])('a journal with text in the place of a figure of %s is refused', (_, part, path) => {
  const fault = faultOf({ ...measured(1, 100, 5), ...part } as unknown as Measurement);
  expect(fault).toContain(`measurement.${path}`);
});
