import { describe, expect, it } from 'vitest';
import { NS_PER_MS } from '#base/units.ts';
import { type BatcherModel, fitBatcherModel } from '#perfmodel/batcher-model.ts';
import { toChoice } from '#perfmodel/modelled-config.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { robustMeasurement } from '#profiler/workloads/robust-measurement.ts';
import { toPolicy } from '#queueing/batcher-policy.ts';
import { affineLaw, executionNs, type ServiceLaw } from '#queueing/service-law.ts';
import { simulate } from '#queueing/simulate.ts';
import { toCandidate } from '#space/model-configs.ts';
import { countInstances } from '#triton/config/instances.ts';
import type { ArrivalPlan } from '#workload/arrival-plan.ts';
import type { RobustRule } from '#workload/robust-rule.ts';
import type { StudyWorkload, StudyWorkloads } from '#workload/study-workloads.ts';
import { configOf, measured } from '../study/builders.ts';

const law: ServiceLaw = {
  ...affineLaw(5 * NS_PER_MS, 0.5 * NS_PER_MS),
  interference: { perInstance: 0, batchExponent: 0 },
  cv: 0.02,
};
const ROUND_TRIP_NS = 0.2 * NS_PER_MS;
const SECONDS = 4;

/** `size` requests at once, as often as makes the rate; 1 is an even one. */
const inGroupsOf =
  (size: number) =>
  (perSecond: number): ArrivalPlan => {
    const count = perSecond * SECONDS;
    return {
      arrivalsNs: Float64Array.from(
        { length: count },
        (_, index) => (Math.floor(index / size) * size * 1e9) / perSecond,
      ),
      classOf: Uint16Array.from({ length: count }, (_, index) => index % 2),
      classes: ['short', 'long'],
      durationNs: SECONDS * 1e9,
    };
  };

const workload = (name: string, size: number, more: Partial<StudyWorkload> = {}): StudyWorkload => ({
  name,
  weight: 1,
  perLevel: 1,
  planAt: inGroupsOf(size),
  ...more,
});
const steady = workload('steady', 1);
const groups = workload('groups', 24);

/** What a server of this law would measure under a workload. */
function measuredUnder(config: ReturnType<typeof configOf>, { planAt }: StudyWorkload, perSecond: number): Measurement {
  const { arrivalsNs } = planAt(perSecond);
  const found = simulate(
    toPolicy(config, countInstances(config)),
    law,
    { kind: 'open', arrivalsNs, roundTripNs: ROUND_TRIP_NS },
    { warmUpRequests: 0, requests: arrivalsNs.length, seed: 5 },
  );
  const ms = (ns: number): number => ns / NS_PER_MS;
  const { mean, p50, p90, p95, p99 } = found.latencyNs;
  return measured(perSecond, found.requestsPerSecond, ms(p99), {
    level: { mode: 'request-rate', value: perSecond },
    latencyMs: {
      avg: ms(mean),
      p50: ms(p50),
      p90: ms(p90),
      p95: ms(p95),
      p99: ms(p99),
      max: ms(p99),
      min: 0,
      std: 0,
    },
    server: {
      queueUs: found.queueNs / 1e3,
      computeInputUs: 0,
      computeInferUs: found.computeNs / 1e3,
      computeOutputUs: 0,
      overheadUs: 0,
      requestUs: 0,
      successCount: found.requests,
      inferenceCount: found.requests,
      executionCount: 1,
      failCount: 0,
      cache: { hitCount: 0, hitUs: 0, missCount: 0, missUs: 0 },
      batches: [...found.executions]
        .map((executions, size) => ({
          size,
          executions,
          meanExecutionUs: executionNs(law, Math.max(1, size), 1) / 1e3,
        }))
        .filter(({ executions }) => executions > 0),
    },
  });
}

const config = configOf(1, 8, { dynamic_batching: {} });
const other = configOf(1, 16, { dynamic_batching: { max_queue_delay_microseconds: 2000 } });

function fitted(rule: RobustRule, workloads: StudyWorkloads['workloads'], percentile = 99): BatcherModel {
  const levels = [60, 240].map((rate) => {
    const parts = workloads.map((each) => ({
      ...measuredUnder(config, each, rate * each.perLevel),
      workload: each.name,
      weight: each.weight,
    }));
    return robustMeasurement(rule, { mode: 'request-rate', value: rate }, parts);
  });
  return fitBatcherModel([{ choice: toChoice(toCandidate(config)), measurements: levels }], {
    mode: 'request-rate',
    percentile,
    seed: 1,
    all: [],
    workloads: { rule, workloads },
  });
}

describe('a service model under workloads', () => {
  it('predicts what another config does under the arrivals of each', () => {
    for (const under of [steady, groups]) {
      const predicted = fitted({ kind: 'worst' }, [under]).predict(toChoice(toCandidate(other)), 360);
      const truth = measuredUnder(other, under, 360);
      expect((predicted?.['latency-p99'] ?? 0) / truth.latencyMs.p99).toBeCloseTo(1, 1);
      expect(predicted?.throughput).toBeCloseTo(360, -1);
    }
  });

  it('puts them together as measurements are', () => {
    const choice = toChoice(toCandidate(other));
    const worst = fitted({ kind: 'worst' }, [steady, groups]).predict(choice, 360);
    const mean = fitted({ kind: 'mean' }, [steady, { ...groups, weight: 3 }]).predict(choice, 360);
    const [even, grouped] = [steady, groups].map((each) => measuredUnder(other, each, 360).latencyMs.p99) as [
      number,
      number,
    ];
    expect(grouped).toBeGreaterThan(1.2 * even);
    expect((worst?.latency ?? 0) / grouped).toBeCloseTo(1, 1);
    expect((mean?.latency ?? 0) / (0.25 * even + 0.75 * grouped)).toBeCloseTo(1, 1);
  });

  it('takes bursts for bursts, not for executions that vary', () => {
    const choice = toChoice(toCandidate(config));
    expect(fitted({ kind: 'worst' }, [groups]).toLaw(choice).cv).toBeLessThanOrEqual(0.1);
  });

  it('counts rates in relation to what a workload asks for', () => {
    const half = workload('half', 24, { perLevel: 0.5 });
    const choice = toChoice(toCandidate(other));
    const predicted = fitted({ kind: 'worst' }, [steady, half]).predict(choice, 360);
    expect(predicted?.throughput).toBeCloseTo(360, -1);
  });

  it('counts requests within the limits of their class', () => {
    const limited = workload('groups', 24, { limitsNs: new Map([['short', 16 * NS_PER_MS]]) });
    const choice = toChoice(toCandidate(config));
    const simulator = fitted({ kind: 'worst' }, [limited]);
    expect(simulator.gives('goodput')).toBe(true);
    // The first request of a group goes alone, for 5.5 ms, then eight for 9 ms: five of those are
    // short. What has no limit is always in time.
    expect((simulator.predict(choice, 240)?.goodput ?? 0) / 240).toBeCloseTo((5 / 12 + 1) / 2, 1);
    expect(fitted({ kind: 'worst' }, [groups]).predict(choice, 240)?.goodput).toBeUndefined();
  });
});
