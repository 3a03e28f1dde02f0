import { lookUp } from '#base/look-up.ts';
import { type Random, seededRandom } from '#base/random.ts';
import type { Assignment } from '#space/types.ts';
import { assess, compareAssessments } from '../../goal/goal.ts';
import { findChosen } from '../../goal/ranking.ts';
import type { Goal, History, Sampler, Trial } from '../../types.ts';
import { anyUntried } from './random.ts';
import { seedAt } from './seeds.ts';
import { type SpaceView, untried } from './space-view.ts';

/** Random trials before the first proposal by the model. */
const STARTUP = 6;
/** The share of the trials that counts as good (γ). */
const GOOD_SHARE = 0.25;
/** Assignments that are drawn for one proposal, … */
const DRAWN = 128;
/** … and those of them that are compared, drawn by the density of the good trials. */
const COMPARED = 24;

/**
 * A tree-structured Parzen estimator (Bergstra and others, 2011) over the values of the parameters:
 * smoothed frequencies of each value among the good trials and among the others. It proposes, of
 * draws by the density of the good trials, the one with the highest ratio of densities.
 */
export function tpeSampler(space: SpaceView, seed: number, goal: Goal): Sampler {
  return {
    ask(history) {
      const random = seededRandom(seedAt(seed, history.trials.length));
      const scored = history.trials.filter(({ role }) => role === 'search');
      // Pending trials count as bad ones, but say nothing about the good ones.
      const known = scored.filter(({ measurements, failure }) => measurements.length > 0 || failure !== null);
      const guess = known.length >= STARTUP ? guessed(space, history, scored, goal, random) : null;
      const assignment = guess ?? anyUntried(space, history, random);
      if (assignment) return { kind: 'trial', assignment, levels: { kind: 'search' } };
      return { kind: 'stop', reason: 'every candidate of the search space was tried' };
    },
  };
}

function guessed(
  space: SpaceView,
  history: History,
  trials: readonly Trial[],
  goal: Goal,
  random: Random,
): Assignment | null {
  const ordered = [...trials].sort((a, b) => compareAssessments(standing(a, goal), standing(b, goal)));
  const count = Math.max(1, Math.ceil(GOOD_SHARE * ordered.length));
  const good = createDensity(ordered.slice(0, count));
  const others = createDensity(ordered.slice(count));
  const drawn = Array.from({ length: DRAWN }, () => space.sample(random)).filter((one) => untried(space, one, history));
  // Draws by weight without replacement: the largest of these keys (Efraimidis and Spirakis, 2006).
  const likely = drawn
    .map((assignment) => ({ assignment, key: Math.log(1 - random.float()) / good(assignment) }))
    .sort((a, b) => b.key - a.key)
    .slice(0, COMPARED);
  const best = likely.reduce<{ assignment: Assignment; ratio: number } | null>((most, { assignment }) => {
    const ratio = good(assignment) / others(assignment);
    return most === null || ratio > most.ratio ? { assignment, ratio } : most;
  }, null);
  return best?.assignment ?? null;
}

function standing(trial: Trial, goal: Goal) {
  const measurement = findChosen(trial);
  const worst = Number.POSITIVE_INFINITY;
  return measurement ? assess(measurement, trial.candidate, goal) : { feasible: false, cost: worst, violation: worst };
}

/**
 * Returns the density of an assignment among the trials: the product of the smoothed frequencies of
 * its values, with half a pseudo-count.
 */
function createDensity(trials: readonly Trial[]): (assignment: Assignment) => number {
  const PRIOR = 0.5;
  return (assignment) =>
    Object.entries(assignment).reduce((product, [name, value]) => {
      const text = JSON.stringify(value);
      const alike = trials.filter(
        ({ candidate }) => JSON.stringify(lookUp(candidate.assignment, name)) === text,
      ).length;
      return (product * (alike + PRIOR)) / (trials.length + 1);
    }, 1);
}
