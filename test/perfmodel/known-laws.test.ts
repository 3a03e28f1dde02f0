import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { median } from 'simple-statistics';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '#base/random.ts';
import { NS_PER_MS } from '#base/units.ts';
import { type Choice, toChoice } from '#perfmodel/modelled-config.ts';
import type { Observation } from '#perfmodel/observation.ts';
import { fitServiceTimes, type ServiceTimes } from '#perfmodel/service-times.ts';
import { affineLaw, executionNs, type ServiceLaw } from '#queueing/service-law.ts';
import { type SimulationOptions, simulate } from '#queueing/simulate.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { configOf, toCandidate } from '../study/builders.ts';

const ms = (value: number): number => value * NS_PER_MS;
const counted: SimulationOptions = { warmUpRequests: 200, requests: 1500, seed: 7 };

const choiceFor = (instances: number, maxBatchSize: number, delayMs = 0, more: ModelConfig = {}): Choice =>
  toChoice(
    toCandidate(
      configOf(instances, maxBatchSize, {
        dynamic_batching: { max_queue_delay_microseconds: 1000 * delayMs },
        ...more,
      }),
    ),
  );

interface Seen {
  readonly choice: Choice;
  readonly observation: Observation;
}

/** What a server with that law would have told of the closed loop. */
function observe(law: ServiceLaw, choice: Choice, concurrency: number): Seen {
  const { policy, settingsKey } = choice;
  const roundTripNs = ms(0.3);
  const run = simulate(policy, law, { kind: 'closed', concurrency, roundTripNs }, counted);
  const observation = {
    settingsKey,
    policy,
    concurrency,
    samplesPerRequest: 1,
    requestsPerSecond: run.requestsPerSecond,
    latencyNs: run.latencyNs,
    roundTripNs,
    split: law.split,
    batches: Array.from(run.executions, (executions, batchSize) => ({
      batchSize,
      executions,
      meanExecutionNs: executionNs(law, Math.max(1, batchSize), run.busyInstances),
    })).filter(({ executions }) => executions > 0),
  };
  return { choice, observation };
}

const timesOf = (...seen: readonly Seen[]): ServiceTimes | null =>
  fitServiceTimes(seen.map(({ choice, observation }) => ({ choice, observations: [observation] })));
const fitOf = (...seen: readonly Seen[]): ServiceTimes => timesOf(...seen) as ServiceTimes;
const ratio = (a: number, b: number): number => Math.abs(a / b - 1);

describe('a law known beforehand', () => {
  it('is found again, and predicts configs that were not observed', () => {
    const times = fc.record({
      fixedMs: fc.double({ min: 0.5, max: 8, noNaN: true }),
      perSampleMs: fc.double({ min: 0.05, max: 1, noNaN: true }),
      perInstance: fc.constantFrom(0, 0.05, 0.2, 0.5),
      // Executions that all take exactly as long fall into patterns of batches, which no prediction
      // tells.
      cv: fc.constantFrom(0.02, 0.05),
    });
    fc.assert(
      fc.property(times, ({ fixedMs, perSampleMs, perInstance, cv }) => {
        const law: ServiceLaw = {
          ...affineLaw(ms(fixedMs), ms(perSampleMs)),
          interference: { perInstance, batchExponent: 0 },
          cv,
        };
        const fitted = fitOf(
          observe(law, choiceFor(1, 16), 12),
          observe(law, choiceFor(1, 16), 32),
          observe(law, choiceFor(4, 8), 64),
        );
        const traffic = { kind: 'closed', concurrency: 32, roundTripNs: ms(0.3) } as const;
        const asked = choiceFor(2, 16);
        const truth = simulate(asked.policy, law, traffic, counted);
        const found = fitted.of(asked);
        const told = simulate(asked.policy, found, { ...traffic, roundTripNs: fitted.roundTripNs }, counted);
        expect(ratio(executionNs(fitted.of(choiceFor(1, 16)), 16, 1), executionNs(law, 16, 1))).toBeLessThan(0.06);
        expect(ratio(told.requestsPerSecond, truth.requestsPerSecond)).toBeLessThan(0.15);
      }),
      { seed: 3, numRuns: 25 },
    );
  });

  it('is found with its interference when several instances were busy, and with a small one when none were', () => {
    const law = { ...affineLaw(ms(2), ms(0.1)), interference: { perInstance: 0.4, batchExponent: 0 } };
    const one = observe(law, choiceFor(1, 8), 16);
    const slowdown = (times: ServiceTimes): number => {
      const found = times.of(choiceFor(4, 8));
      return executionNs(found, 8, 4) / executionNs(found, 8, 1);
    };
    expect(slowdown(fitOf(one, observe(law, choiceFor(4, 8), 64)))).toBeGreaterThan(1.9);
    expect(slowdown(fitOf(one, observe(law, choiceFor(4, 8), 64)))).toBeLessThan(2.65);
    expect(slowdown(fitOf(one))).toBeGreaterThan(1);
    expect(slowdown(fitOf(one))).toBeLessThan(1.9);
  });

  it.each([0, 0.1, 0.3])('is found with a spread of about %s', (cv) => {
    const law = { ...affineLaw(ms(2), ms(0.1)), cv };
    const levels = [1, 2, 4, 8, 16].map((concurrency) => observe(law, choiceFor(2, 8), concurrency));
    const found = fitOf(...levels).of(choiceFor(2, 8)).cv;
    expect(found).toBeGreaterThanOrEqual(cv / 2);
    expect(found).toBeLessThanOrEqual(cv * 1.5 + 0.02);
  });

  it('keeps a step that no line has', () => {
    const stepped: ServiceLaw = {
      ...affineLaw(ms(2), ms(0.1)),
      points: [
        { batchSize: 1, executionNs: ms(2) },
        { batchSize: 4, executionNs: ms(2) },
        { batchSize: 8, executionNs: ms(6) },
      ],
    };
    const fitted = fitOf(...[1, 2, 8, 9, 16, 24].map((level) => observe(stepped, choiceFor(1, 8), level)));
    const found = fitted.of(choiceFor(1, 8));
    expect(ratio(executionNs(found, 8, 1), ms(6))).toBeLessThan(0.1);
    expect(ratio(executionNs(found, 1, 1), ms(2))).toBeLessThan(0.1);
  });
});

describe('with little to go by', () => {
  const law = affineLaw(ms(2), ms(0.2));

  it('takes one measurement', () => {
    const fitted = fitOf(observe(law, choiceFor(1, 16), 20));
    expect(ratio(executionNs(fitted.of(choiceFor(1, 16)), 16, 1), executionNs(law, 16, 1))).toBeLessThan(0.1);
    expect(fitted.roundTripNs).toBeCloseTo(ms(0.3), 0);
  });

  it('takes one batch size: it is exact there, and larger batches take longer but less than their share', () => {
    const found = fitOf(observe(law, choiceFor(1, 1), 4)).of(choiceFor(1, 8));
    expect(ratio(executionNs(found, 1, 1), executionNs(law, 1, 1))).toBeLessThan(0.02);
    expect(executionNs(found, 8, 1)).toBeGreaterThan(executionNs(found, 1, 1));
    expect(executionNs(found, 8, 1)).toBeLessThan(8 * executionNs(found, 1, 1));
  });

  it('says nothing without statistics by batch size, or of single executions', () => {
    const some = observe(law, choiceFor(1, 4), 8);
    const withBatches = (batches: Observation['batches']): Seen => ({
      ...some,
      observation: { ...some.observation, batches },
    });
    expect(timesOf()).toBeNull();
    expect(timesOf(withBatches([]))).toBeNull();
    expect(timesOf(withBatches(some.observation.batches.map((each) => ({ ...each, executions: 1 }))))).toBeNull();
  });

  it('takes the level from the variant itself and the shape from the others', () => {
    const slow = affineLaw(ms(4), ms(0.4));
    const graphs = { optimization: { cuda: { graphs: true } } };
    const others = [1, 4, 16, 32].map((level) => observe(slow, choiceFor(1, 16, 0, graphs), level));
    const fitted = fitOf(observe(law, choiceFor(1, 8), 16), observe(law, choiceFor(1, 8), 3), ...others);
    for (const size of [1, 8, 16]) {
      expect(ratio(executionNs(fitted.of(choiceFor(1, 16)), size, 1), executionNs(law, size, 1))).toBeLessThan(0.12);
    }
    const unknown = fitOf(...others).of(choiceFor(1, 16));
    expect(ratio(executionNs(unknown, 8, 1), executionNs(slow, 8, 1))).toBeLessThan(0.05);
  });
});

/** Of a Triton 2.51 with a Python-backend model on two cores: one window of 1.2 s each. */
type Recorded = {
  readonly instances: number;
  readonly maxBatchSize: number;
  readonly delayUs: number;
  readonly concurrency: number;
  readonly requestsPerSecond: number;
  readonly avgMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Batch size, executions, mean milliseconds of one. */
  readonly batches: [number, number, number][];
};

it('predicts 160 measurements of a real server from eight of them', () => {
  const fixture = new URL('../fixtures/queueing/real-triton-grid.json.gz', import.meta.url);
  const grid = JSON.parse(gunzipSync(readFileSync(fixture)).toString()) as Recorded[];
  const random = seededRandom(11);
  // The recording has no queue times: its round trip is read where nothing can queue.
  const alone = grid.find((row) => row.concurrency === 1 && row.delayUs === 0) as Recorded;
  const roundTripNs = ms(alone.avgMs - (alone.batches[0]?.[2] ?? 0));
  const choiceOfRow = (row: Recorded): Choice => choiceFor(row.instances, row.maxBatchSize, row.delayUs / 1000);
  const observed = (row: Recorded, { settingsKey, policy }: Choice): Observation => ({
    settingsKey,
    policy,
    concurrency: row.concurrency,
    samplesPerRequest: 1,
    requestsPerSecond: row.requestsPerSecond,
    latencyNs: { p50: ms(row.p50Ms), p99: ms(row.p99Ms) },
    roundTripNs,
    split: { input: 0, output: 0 },
    batches: row.batches.map(([batchSize, executions, mean]) => ({ batchSize, executions, meanExecutionNs: ms(mean) })),
  });
  const eight = Array.from({ length: 8 }, () => grid[random.int(0, grid.length - 1)] as Recorded);
  const times = fitOf(
    ...eight.map((row) => ({ choice: choiceOfRow(row), observation: observed(row, choiceOfRow(row)) })),
  );
  const errors = grid
    .filter((row) => !eight.includes(row))
    .map((row) => {
      const { concurrency } = row;
      const choice = choiceOfRow(row);
      const traffic = { kind: 'closed', concurrency, roundTripNs: times.roundTripNs } as const;
      const told = simulate(choice.policy, times.of(choice), traffic, { ...counted, requests: 800 });
      return {
        rate: ratio(told.requestsPerSecond, row.requestsPerSecond),
        p99: ratio(told.latencyNs.p99, ms(row.p99Ms)),
      };
    });
  expect(errors.length).toBeGreaterThanOrEqual(grid.length - 8);
  expect(median(errors.map(({ rate }) => rate))).toBeLessThan(0.12);
  expect(median(errors.map(({ p99 }) => p99))).toBeLessThan(0.25);
});
