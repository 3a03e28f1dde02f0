import { describe, expect, it } from 'vitest';
import { type Random, seededRandom, standardNormal } from '#base/random.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Interval } from '#stats/interval.ts';
import { nextFinal } from '#study/final/final.ts';
import { foldStudy } from '#study/records/fold.ts';
import type { StudyRecord } from '#study/records/records.ts';
import type { SimulatedModel } from '../loadgen/simulation.ts';
import { configOf, goalOf, measured, studyStarted, toCandidate } from '../study/builders.ts';
import { isNightly } from '../support/fuzz.ts';
import { measure } from './simulate.ts';

/** Lognormal with mean 1. */
const noise = (random: Random, sigma: number): number => Math.exp(sigma * standardNormal(random) - sigma ** 2 / 2);

/** Above 1, with a tail so heavy that its variance only just exists. */
const pareto = (random: Random): number => (1 - random.float()) ** (-1 / 2.5);

/** A value that leans on the one before it. */
function leaning(random: Random, correlation: number): () => number {
  let value = standardNormal(random);
  return () => {
    value = correlation * value + Math.sqrt(1 - correlation ** 2) * standardNormal(random);
    return value;
  };
}

interface Scenario {
  readonly level: number;
  readonly model: (random: Random) => SimulatedModel;
}

/** None of them drifts: what differs between two measurements is chance. */
const scenarios: readonly (readonly [name: string, Scenario])[] = [
  // Each latency holds eight executions, seven of which its neighbour's holds too.
  ['one instance with a queue', { level: 8, model: (random) => ({ executionNs: () => 1e6 * noise(random, 0.3) }) }],
  [
    'batches on two instances',
    {
      level: 16,
      model: (random) => ({
        instances: 2,
        maxBatch: 8,
        executionNs: (batch) => (2e6 + 0.3e6 * batch) * noise(random, 0.2),
      }),
    },
  ],
  [
    'slow and fast spells of some fifty milliseconds',
    {
      level: 4,
      model: (random) => {
        const spell = leaning(random, 0.95);
        return { instances: 2, executionNs: () => 2e6 * Math.exp(0.2 * spell()) * noise(random, 0.1) };
      },
    },
  ],
  [
    'a heavy tail',
    { level: 8, model: (random) => ({ instances: 4, executionNs: () => 1e6 + 0.5e6 * pareto(random) }) },
  ],
];

const RUNS = 120;
const FINALS = 200;
const FINAL_ROUNDS = 2;
const TRUTH_REQUESTS = 150_000;

const share = <T>(all: readonly T[], holds: (each: T) => boolean): number => all.filter(holds).length / all.length;
const covers = ({ low, high }: Interval, truth: number): boolean => low <= truth && truth <= high;

const at = '2026-01-01T00:00:00.000Z';

/** A study of two candidates that is ready for its final. */
function searched(level: number): StudyRecord[] {
  const trial = (number: number, throughput: number): StudyRecord[] => [
    {
      type: 'trial-started',
      at,
      trial: number,
      role: number === 0 ? 'baseline' : 'search',
      candidate: toCandidate(configOf(number + 1, 1)),
      levels: { kind: 'search' },
    },
    { type: 'trial-measured', at, trial: number, measurement: measured(level, throughput, 1) },
    { type: 'trial-finished', at, trial: number, chosen: 0, feasible: true, failure: null },
  ];
  return [studyStarted(goalOf(null)), ...trial(0, 100), ...trial(1, 110)];
}

/**
 * Whether the tuner's own final, played until it is decided, says that one of the two is faster.
 */
async function calledDifferent(measureOne: (trial: number) => Measurement | Promise<Measurement>, level: number) {
  const records = searched(level);
  for (;;) {
    const step = nextFinal(foldStudy(records), FINAL_ROUNDS);
    if (step?.kind === 'void') {
      records.push({ ...step, type: 'round-voided', at });
      continue;
    }
    if (step?.kind !== 'measure') {
      const { gain = null, rejected } = step?.decision ?? {};
      const decided = rejected ? rejected.gain : gain;
      if (!decided) throw new Error('the final decided nothing');
      return !covers(decided, 1);
    }
    const { round, rest } = step;
    const { number: trial } = step.trial;
    records.push({ type: 'final-measured', at, trial, round, rest, measurement: await measureOne(trial) });
  }
}

describe.each(scenarios.slice(0, isNightly ? undefined : 1))('measurements of %s', (_, { level, model }) => {
  const measured = (async () => {
    const all: Measurement[] = [];
    for (let run = 0; run < RUNS; run++)
      all.push(await measure(model(seededRandom(1000 + run)), level, { windows: { maxWindows: 4 } }));
    return all;
  })();
  /** Of a run so long that its own error does not matter. */
  const truth = measure(model(seededRandom(5)), level, {
    stability: { kind: 'request-count', requests: TRUTH_REQUESTS },
  });

  it('cover the truth in at least 90 % of runs, in throughput and in p99', async () => {
    const { throughput, budgetLatencyMs } = await truth;
    const all = await measured;
    expect(share(all, (each) => covers(each.throughput, throughput.value))).toBeGreaterThanOrEqual(0.9);
    expect(share(all, (each) => covers(each.budgetLatencyMs, budgetLatencyMs.value))).toBeGreaterThanOrEqual(0.9);
  }, 180_000);

  it('call the same config different from itself in at most 5 % of 200 finals', async () => {
    const all = await measured;
    const random = seededRandom(77);
    const any = (): Measurement => all[random.int(0, RUNS - 1)] as Measurement;
    const finals = await Promise.all(Array.from({ length: FINALS }, () => calledDifferent(any, level)));
    expect(share(finals, Boolean)).toBeLessThanOrEqual(0.05);
  }, 180_000);
});

it('a final does call configs different that are', async () => {
  const [, { level, model }] = scenarios[1] as (typeof scenarios)[number];
  const faster = (random: Random): SimulatedModel => {
    const same = model(random);
    return { ...same, executionNs: (...execution) => same.executionNs(...execution) / 1.1 };
  };
  let turn = 0;
  const one = (trial: number) => measure((trial === 1 ? faster : model)(seededRandom(turn++)), level);
  expect(await calledDifferent(one, level)).toBe(true);
});
