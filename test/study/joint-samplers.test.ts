import { describe, expect, it } from 'vitest';
import { toChoice } from '#perfmodel/modelled-config.ts';
import type { Assignment, Candidate } from '#space/types.ts';
import { computeStanding } from '#study/goal/ranking.ts';
import { jointLoadChance } from '#study/search/joint-load-chance.ts';
import { pruneReason } from '#study/search/pruning.ts';
import { neighboursIn } from '#study/search/queueing/joint-candidates.ts';
import { makeSampler, samplerNames } from '#study/search/samplers/registry.ts';
import type { FailureKind, Sampler, Trial } from '#study/types.ts';
import { listSwaps } from '../../lab/pipelines/long-search.ts';
import { oneByOneSampler } from '../../lab/pipelines/one-by-one.ts';
import { model, pipeline, without } from '../perfmodel/network/made.ts';
import { goalOf } from './builders.ts';

const made = without(pipeline([model('a', 2, 0.2), model('b', 6, 0.5)]));
const { problem, topology, candidate } = made;
const goal = goalOf(60);
const levels = { mode: 'concurrency', low: 1, high: 64 } as const;
const unlimited = { trials: Number.POSITIVE_INFINITY, seconds: Number.POSITIVE_INFINITY };

function trialOf(number: number, assignment: Assignment, level: number): Trial {
  const { choice, measurements } = made.measured(assignment, level);
  const standing = computeStanding(measurements, choice.candidate, goal);
  const role = number === 0 ? 'baseline' : 'search';
  return { number, role, candidate: choice.candidate, measurements, ...standing, failure: null };
}

const failed = (number: number, tried: Candidate, kind: FailureKind): Trial => ({
  number,
  role: 'search',
  candidate: tried,
  measurements: [],
  chosen: null,
  feasible: false,
  failure: { kind, reason: kind },
});

/** Asks so many times, each proposal measured where it begins. */
function played(sampler: Sampler, proposals: number): readonly Trial[] {
  const trials = [trialOf(0, {}, 8)];
  while (trials.length <= proposals) {
    const answer = sampler.ask({ trials }, unlimited);
    if (answer.kind === 'stop') break;
    const level = answer.levels.kind === 'search' ? (answer.levels.start ?? 8) : (answer.levels.values[0] ?? 8);
    trials.push(trialOf(trials.length, answer.assignment, level));
  }
  return trials;
}

describe('a joint space', () => {
  const list: readonly Assignment[] = [
    { 'a/max_batch_size': 4, 'a/queue_delay_us': 0, 'a/instances': 2 },
    { 'b/max_batch_size': 8, 'b/queue_delay_us': 0, 'b/instances': 3 },
  ];

  it.each(samplerNames)(
    'is searched by %s: legal candidates, none twice at one level, the same for the same history',
    (name) => {
      const make = () => makeSampler(name, problem.space, { seed: 3, goal, levels, topology, candidates: list });
      const trials = played(make(), 4);
      expect(trials.length).toBe(name === 'manual' ? 3 : 5);
      const tried = trials.map(
        ({ candidate, measurements }) => `${candidate.fingerprint} ${measurements[0]?.level.value}`,
      );
      expect(new Set(tried).size).toBe(trials.length);
      for (const {
        candidate: { shape },
      } of trials)
        expect(Object.keys(shape.members ?? {})).toEqual(['a', 'b']);
      const history = { trials: trials.slice(0, 3) };
      expect(make().ask(history, unlimited)).toEqual(make().ask(history, unlimited));
    },
  );

  it('has as neighbours what differs in one parameter, and as swaps an instance of one model for one of another', () => {
    const middle = candidate({
      'a/max_batch_size': 4,
      'a/queue_delay_us': 0,
      'a/instances': 2,
      'b/max_batch_size': 4,
      'b/queue_delay_us': 0,
      'b/instances': 3,
    });
    const instances = ({ shape }: Candidate) =>
      Object.values(shape.members ?? {}).map(({ policy }) => policy.instances);
    expect(neighboursIn(problem.space)(toChoice(middle))).toHaveLength(2 * (3 + 2));
    expect(listSwaps(problem.space, middle).map(instances)).toEqual([
      [3, 2],
      [1, 4],
    ]);
  });
});

describe('the default sampler on a joint space', () => {
  const sampler = makeSampler('queueing', problem.space, { seed: 1, goal, levels, topology });

  it('says which model holds the best back, and what one more instance of it is expected to give', () => {
    const answer = sampler.ask({ trials: [trialOf(0, {}, 4)] }, unlimited);
    expect(answer).toMatchObject({ kind: 'trial', bottleneck: { trial: 0, stage: 'b' } });
    const { bottleneck } = answer as { bottleneck: { utilization: number; gain: number } };
    expect(bottleneck.utilization).toBeGreaterThan(0.95);
    expect(bottleneck.gain).toBeGreaterThan(1.5);
  });

  it('ends near the joint optimum where tuning one model after the other does not', () => {
    const best = (trials: readonly Trial[]): number =>
      Math.max(
        ...trials.filter(({ feasible }) => feasible).map((trial) => trial.measurements[0]?.throughput.value ?? 0),
      );
    const { narrowed, baseline } = problem;
    const oneByOne = oneByOneSampler({
      seed: 1,
      goal,
      levels,
      topology,
      baseline,
      measurements: 9,
      narrowed: narrowed as NonNullable<typeof narrowed>,
    });
    const [together, apart] = [best(played(sampler, 8)), best(played(oneByOne, 8))];
    expect(together).toBeGreaterThan(1.5 * apart);
  });
});

describe('a load that failed', () => {
  const with_ = (a: number, b: number) =>
    candidate({
      'a/max_batch_size': 4,
      'a/queue_delay_us': 0,
      'a/instances': a,
      'b/max_batch_size': 4,
      'b/queue_delay_us': 0,
      'b/instances': b,
    });

  it('for memory rules out what needs as much of every model, and nothing that needs less of one', () => {
    const trials = [failed(1, with_(2, 3), 'out-of-memory')];
    expect(pruneReason(with_(2, 3), trials)).toContain('trial 1');
    expect(pruneReason(with_(3, 4), trials)).toContain('trial 1');
    expect(pruneReason(with_(4, 2), trials)).toBeNull();
    expect(pruneReason(with_(1, 4), trials)).toBeNull();
  });

  it('for a model that did not start is put down to the one that was never served so', () => {
    const served = { ...trialOf(1, with_(3, 1).assignment, 4), number: 1 };
    const trials = [served, failed(2, with_(3, 2), 'init-failed')];
    expect(pruneReason(with_(1, 2), trials)).toContain('trial 2');
    expect(pruneReason(with_(4, 1), trials)).toBeNull();
    // Either model may be the cause where neither was served so.
    expect(pruneReason(with_(1, 2), [failed(2, with_(3, 2), 'init-failed')])).toBeNull();
  });
});

describe('the chance that models load together', () => {
  const members = (a: number, b: number) =>
    candidate({ 'a/max_batch_size': 1, 'a/instances': a, 'b/max_batch_size': 1, 'b/instances': b }).shape.members ?? {};
  const loaded = (number: number, a: number, b: number): Trial =>
    trialOf(number, { 'a/max_batch_size': 1, 'a/instances': a, 'b/max_batch_size': 1, 'b/instances': b }, 2);
  const refused = failed(
    3,
    candidate({ 'a/max_batch_size': 1, 'a/instances': 3, 'b/max_batch_size': 1, 'b/instances': 3 }),
    'out-of-memory',
  );

  it('is that of their needs between what loaded and what was refused, over all ratios of the models', () => {
    const trials = [loaded(0, 1, 1), loaded(1, 2, 1), refused];
    expect(jointLoadChance(members(3, 4), trials)).toBe(0);
    expect(jointLoadChance(members(2, 1), trials)).toBe(1);
    const [some, more] = [jointLoadChance(members(2, 2), trials) ?? 0, jointLoadChance(members(4, 2), trials) ?? 0];
    expect(some).toBeGreaterThan(more);
    expect(jointLoadChance(members(2, 2), trials.slice(0, 2))).toBeNull();
  });
});
