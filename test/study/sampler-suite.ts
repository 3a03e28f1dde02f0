import { describe, expect, it } from 'vitest';
import { spaceFromJson } from '../../src/space/load.ts';
import { allows, type Narrowing } from '../../src/space/narrowing.ts';
import type { Assignment, CandidateOutcome } from '../../src/space/types.ts';
import { type SpaceView, viewSpace } from '../../src/study/samplers/space-view.ts';
import type { Proposal, Remaining, Sampler, Trial } from '../../src/study/types.ts';
import { candidateOf, configOf, failedTrial, measured, originalConfig, trialOf } from './builders.ts';

const instances = [1, 2, 3, 4];
const batches = [1, 4, 8];
const delays = [0, 100];

/** A small space whose batch 8 allows no delay, and in which two assignments of batch 1 are one candidate. */
export const smallSpace: SpaceView = {
  *assignments() {
    for (const delay of delays)
      for (const batch of batches) for (const count of instances) yield { delay, batch, count };
  },
  sample: (random) => ({
    delay: delays[random.int(0, 1)] as number,
    batch: batches[random.int(0, 2)] as number,
    count: instances[random.int(0, 3)] as number,
  }),
  complete: (wanted, random) => ({ ...smallSpace.sample(random), ...wanted }),
  build(assignment): CandidateOutcome {
    const { delay, batch, count } = assignment as { delay: number; batch: number; count: number };
    if (batch === 8 && delay > 0) return { legal: false, reason: 'no delay with batches of 8' };
    const batching = batch > 1 ? { dynamic_batching: { max_queue_delay_microseconds: delay } } : {};
    return { legal: true, candidate: candidateOf(configOf(count, batch, batching), assignment) };
  },
};

/** 4 instance counts × (batch 1; batch 4 with two delays; batch 8). */
export const smallSpaceSize = 16;

const unlimited: Remaining = { trials: Number.POSITIVE_INFINITY, seconds: Number.POSITIVE_INFINITY };

/** A space like the small one, read as a user's is. */
const readSpace = spaceFromJson({
  name: 'small',
  parameters: {
    max_batch_size: [1, 4, 8],
    queue_delay_us: { values: [0, 100], when: { max_batch_size: { above: 1 } } },
    instances: [1, 2, 3, 4],
  },
  rules: [{ require: 'instances != 3', message: 'never three' }],
});

/** Pins, exclusions, and both where a parameter does not always apply; with the assignments that are left. */
const narrowings: readonly (readonly [string, Narrowing, number])[] = [
  ['a value pinned', { max_batch_size: { pinned: 4 } }, 6],
  ['values excluded', { instances: { excluded: [1, 4] } }, 5],
  ['a value pinned that does not always apply', { queue_delay_us: { pinned: 100 } }, 9],
  ['both', { queue_delay_us: { excluded: [0, 100] }, instances: { pinned: 2 } }, 1],
];

/** Asks and tells until the sampler stops. `outcome` makes a trial of each proposal. */
export function drain(
  sampler: Sampler,
  outcome: (number: number, trial: Trial) => Trial = (_, trial) => trial,
  space: SpaceView = smallSpace,
) {
  const trials: Trial[] = [trialOf(0, configOf(9, 9))];
  for (let number = 1; number < 1000; number++) {
    const answer = sampler.ask({ trials }, unlimited);
    if (answer.kind === 'stop') return { trials, reason: answer.reason };
    const built = space.build(answer.assignment);
    if (!built.legal) throw new Error(`an illegal proposal: ${built.reason}`);
    const trial = trialOf(number, built.candidate.config, { measurements: [measured(startOf(answer), 100, 5)] });
    trials.push(outcome(number, { ...trial, candidate: built.candidate }));
  }
  throw new Error('the sampler does not stop');
}

/** Where the sampler begins, 1 where it leaves that to others. */
export const startOf = ({ levels }: Proposal): number => (levels.kind === 'search' ? (levels.start ?? 1) : 1);

/**
 * What every sampler keeps. `makeOver` gives one over a space, of which `all` are the assignments, also those that a person
 * has ruled out.
 */
export function samplerSuite(
  name: string,
  makeOver: (seed: number, space: SpaceView, all: readonly Assignment[]) => Sampler,
): void {
  const make = (seed: number): Sampler => makeOver(seed, smallSpace, [...smallSpace.assignments()]);
  describe(`${name}, as every sampler`, () => {
    it('proposes legal candidates only, none twice at one level, and stops with a reason', () => {
      const { trials, reason } = drain(make(1));
      const seen = trials.map(
        ({ candidate, measurements }) => `${candidate.fingerprint} ${measurements[0]?.level.value}`,
      );
      expect(new Set(seen).size).toBe(seen.length);
      expect(trials.length).toBeGreaterThan(1);
      expect(reason).not.toBe('');
    });

    it('is a function of seed and history: asked twice, made anew, or resumed, it answers alike', () => {
      const { trials } = drain(make(7));
      const one = make(7);
      for (let length = 1; length < trials.length; length++) {
        const history = { trials: trials.slice(0, length) };
        const answer = make(7).ask(history, unlimited);
        expect(one.ask(history, unlimited)).toEqual(answer);
        expect(one.ask(history, unlimited)).toEqual(answer);
        expect(answer).toMatchObject({ kind: 'trial', assignment: trials[length]?.candidate.assignment });
      }
    });

    it('leaves the history as it was', () => {
      const trials = [trialOf(0, configOf(1, 4))];
      const before = JSON.stringify(trials);
      make(1).ask({ trials: Object.freeze(trials) as Trial[] }, unlimited);
      expect(JSON.stringify(trials)).toBe(before);
    });

    it('never proposes what must fail because another candidate did', () => {
      const { trials } = drain(make(3), (number, trial) => {
        const count = (trial.candidate.assignment as { count: number }).count;
        return count < 3
          ? trial
          : { ...failedTrial(number, trial.candidate.config, 'out-of-memory'), candidate: trial.candidate };
      });
      const failed = trials.filter((trial) => trial.failure);
      for (const [index, trial] of failed.entries()) {
        const { count, batch } = trial.candidate.assignment as { count: number; batch: number };
        const heavier = failed.slice(0, index).some((earlier) => {
          const than = earlier.candidate.assignment as { count: number; batch: number };
          return batch > 1 === than.batch > 1 && count >= than.count && batch >= than.batch;
        });
        expect(heavier).toBe(false);
      }
    });

    it.each(narrowings)('never gives what is ruled out: %s', (_, narrowing, left) => {
      const all = [...viewSpace(readSpace, originalConfig).assignments()];
      const space = viewSpace(readSpace, originalConfig, narrowing);
      expect([...space.assignments()]).toHaveLength(left);
      for (const seed of [1, 2, 3]) {
        const { trials } = drain(makeOver(seed, space, all), undefined, space);
        expect(trials.length).toBeGreaterThan(1);
        for (const { candidate } of trials.slice(1)) {
          const values = Object.entries(candidate.assignment);
          expect(values.filter(([parameter, value]) => !allows(narrowing, parameter, value))).toEqual([]);
        }
      }
    });

    it('stops at once when nothing is left', () => {
      const { trials } = drain(make(1));
      const all = [...smallSpace.assignments()].flatMap((assignment, index) => {
        const built = smallSpace.build(assignment);
        return built.legal ? [{ ...trialOf(index + 1, built.candidate.config), candidate: built.candidate }] : [];
      });
      expect(make(1).ask({ trials: [...trials, ...all] }, unlimited).kind).toBe('stop');
    });
  });
}
