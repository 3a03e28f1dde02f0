import { describe, expect, it } from 'vitest';
import { drawArrivals } from '#explain/arrivals.ts';
import type { ModelExplanation } from '#explain/explanation.ts';
import { toWorkload } from '#explain/to-workload.ts';
import { createPlan } from '#workload/plan/plan-of.ts';
import { parseWorkload } from '#workload/read-workload.ts';
import { anExplanation } from './documents.ts';

const [model] = anExplanation.models as [ModelExplanation];
const withTraffic = (change: Partial<ModelExplanation['traffic']>): ModelExplanation => ({
  ...model,
  traffic: { ...model.traffic, ...change },
});

/** Variance over mean of the arrivals in each second. */
function computeDispersion(timesNs: Float64Array): number {
  const counts = new Map<number, number>();
  for (const timeNs of timesNs) {
    const second = Math.floor(timeNs / 1e9);
    counts.set(second, (counts.get(second) ?? 0) + 1);
  }
  const all = Array.from({ length: Math.floor((timesNs.at(-1) ?? 0) / 1e9) }, (_, second) => counts.get(second) ?? 0);
  const mean = all.reduce((sum, count) => sum + count, 0) / all.length;
  return all.reduce((sum, count) => sum + (count - mean) ** 2, 0) / all.length / mean;
}

describe('the traffic of a model as a workload', () => {
  it('of independent clients is a Poisson process', () => {
    expect(toWorkload(model)?.phases).toEqual([{ durationS: 30, arrivals: { process: 'poisson', perSecond: 80.3 } }]);
  });

  it('in bursts has the dispersion that was seen', async () => {
    const seen = drawArrivals({ kind: 'bursts', meanSize: 5, gapNs: 1e6 }, 200, 200_000, 1);
    const value = computeDispersion(seen);
    const workload = toWorkload(withTraffic({ arrivals: 'bursts', dispersion: { value, low: value, high: value } }));
    const long = { ...workload, phases: workload?.phases.map((phase) => ({ ...phase, durationS: 2000 })) };
    const { arrivalsNs } = createPlan(await parseWorkload(JSON.stringify(long), '/tmp/w.json'), { seed: 1 });
    expect(computeDispersion(arrivalsNs) / value).toBeGreaterThan(0.8);
    expect(computeDispersion(arrivalsNs) / value).toBeLessThan(1.25);
  });

  it('is none where it does not show how requests arrive', () => {
    expect(toWorkload(withTraffic({ arrivals: 'unknown', dispersion: null }))).toBeNull();
  });
});
