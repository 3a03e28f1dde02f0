import { describe, expect, it } from 'vitest';
import { toModelConfig } from '#space/model-configs.ts';
import type { Assignment, CandidateOutcome } from '#space/types.ts';
import type { SpaceView } from '#study/search/samplers/space-view.ts';
import type { Proposal, Remaining, Sampler, Trial } from '#study/types.ts';
import { configOf, failedTrial, measured, toCandidate, trialOf } from './builders.ts';

const instances = [1, 2, 3, 4];
const batches = [1, 4, 8];
const delays = [0, 100];

/**
 * A small space whose batch 8 allows no delay, and in which two assignments of batch 1 are one
 * candidate.
 */
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
    return { legal: true, candidate: toCandidate(configOf(count, batch, batching), assignment) };
  },
};

/** 4 instance counts × (batch 1; batch 4 with two delays; batch 8). */
export const smallSpaceSize = 16;

const unlimited: Remaining = { trials: Number.POSITIVE_INFINITY, seconds: Number.POSITIVE_INFINITY };

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
    const trial = trialOf(number, toModelConfig(built.candidate), {
      measurements: [measured(startOf(answer), 100, 5)],
    });
    trials.push(outcome(number, { ...trial, candidate: built.candidate }));
  }
  throw new Error('the sampler does not stop');
}

/** Where the sampler begins, 1 where it leaves that to others. */
export const startOf = ({ levels }: Proposal): number => (levels.kind === 'search' ? (levels.start ?? 1) : 1);

/**
 * What every built-in sampler keeps beside `samplerConformance`. `makeOver` gives one over a space
 * with these assignments.
 */
export function samplerSuite(
  name: string,
  makeOver: (seed: number, space: SpaceView, all: readonly Assignment[]) => Sampler,
): void {
  const make = (seed: number): Sampler => makeOver(seed, smallSpace, [...smallSpace.assignments()]);
  describe(`${name}, as every built-in sampler`, () => {
    it('never proposes what must fail because another candidate did', () => {
      const { trials } = drain(make(3), (number, trial) => {
        const count = (trial.candidate.assignment as { count: number }).count;
        return count < 3
          ? trial
          : { ...failedTrial(number, toModelConfig(trial.candidate), 'out-of-memory'), candidate: trial.candidate };
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
  });
}
