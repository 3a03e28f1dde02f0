import { seededRandom } from '../../../base/random.ts';
import { type Choice, listParts, toChoice } from '../../../perfmodel/modelled-config.ts';
import type { Simulator } from '../../../perfmodel/simulator.ts';
import type { DeviceMetrics } from '../../../profiler/server-figures.ts';
import type { Candidate } from '../../../space/types.ts';
import { assess, compareAssessments } from '../../goal/goal.ts';
import { findChosen } from '../../goal/ranking.ts';
import type { Goal, LevelRange, Trial } from '../../types.ts';
import type { SpaceView } from '../samplers/space-view.ts';
import { memoizeByIdentity } from './memoize.ts';
import { byBound } from './screen.ts';

/**
 * Candidates of a joint space that are simulated at coarse levels for one proposal: the best of a
 * sample by a bound, some of it at random, …
 */
const MAX_BY_BOUND = 14;
const MAX_AT_RANDOM = 4;
/** … and the best of those next to the best trials, which are this many. */
const BEST_TRIALS = 2;
const MAX_NEXT_TO_ONE = 10;

/**
 * Returns the legal choices that differ from one in one parameter of one member; for joint spaces.
 */
export type NeighboursOf = (choice: Choice) => readonly Choice[];

/**
 * Returns the neighbours in a space that knows them; memoized by choice, because every proposal
 * asks for each.
 */
export function neighboursIn(space: SpaceView): NeighboursOf {
  return memoizeByIdentity(({ candidate }: Choice) =>
    [...(space.neighbours?.(candidate.assignment) ?? [])].flatMap((assignment) => {
      const outcome = space.build(assignment);
      return outcome.legal ? [toChoice(outcome.candidate)] : [];
    }),
  );
}

/**
 * Returns the candidates next to one: its neighbours, and those with an instance of one model
 * replaced by one of another.
 */
export function nextTo(space: SpaceView): (candidate: Candidate) => readonly Candidate[] {
  const listNeighbours = neighboursIn(space);
  return (candidate) => {
    const choice = toChoice(candidate);
    return [...listNeighbours(choice), ...listSwaps(choice, listNeighbours)].map((each) => each.candidate);
  };
}

/** The context in which candidates are chosen. */
export interface JointOptions {
  readonly seed: number;
  readonly goal: Goal;
  readonly levels: LevelRange;
  readonly isOpen: (choice: Choice) => boolean;
  readonly device?: DeviceMetrics;
}

/**
 * Returns the candidates of a joint space to simulate first: the best of the sample by a bound on
 * their throughput, some at random, and the neighbours of the best trials. Neighbours differ in one
 * parameter, or have an instance of one model replaced by one of another.
 */
export function jointCandidates(
  sample: readonly Choice[],
  trials: readonly Trial[],
  simulator: Simulator,
  listNeighbours: NeighboursOf,
  { seed, goal, levels, isOpen, device }: JointOptions,
): readonly Choice[] {
  const random = seededRandom(seed + trials.length);
  const bounded = byBound(sample, simulator, goal, levels, device);
  const rest = bounded.slice(MAX_BY_BOUND);
  const drawn =
    rest.length === 0
      ? []
      : Array.from({ length: MAX_AT_RANDOM }, () => rest[random.int(0, rest.length - 1)] as Choice);
  const around = findBest(trials, goal).flatMap(({ candidate }) => {
    const choice = toChoice(candidate);
    const next = [...listNeighbours(choice), ...listSwaps(choice, listNeighbours)].filter(isOpen);
    return byBound(next, simulator, goal, levels, device).slice(0, MAX_NEXT_TO_ONE);
  });
  const all = [...bounded.slice(0, MAX_BY_BOUND), ...drawn, ...around];
  return [...new Map(all.map((choice) => [choice.key, choice])).values()];
}

/** Returns the best trials, the best first. */
function findBest(trials: readonly Trial[], goal: Goal): readonly Trial[] {
  return trials
    .flatMap((trial) => {
      const measurement = findChosen(trial);
      return measurement ? [{ trial, assessment: assess(measurement, trial.candidate, goal) }] : [];
    })
    .sort((a, b) => compareAssessments(a.assessment, b.assessment))
    .slice(0, BEST_TRIALS)
    .map(({ trial }) => trial);
}

/**
 * Returns the choices with one step more instances of one model and one step fewer of another: the
 * useful move when a limit applies to the total of instances.
 */
export function listSwaps(choice: Choice, listNeighbours: NeighboursOf): readonly Choice[] {
  const count = listParts(choice).length;
  return Array.from({ length: count }, (_, model) => step(choice, listNeighbours, model, 1)).flatMap((more, model) =>
    more === undefined
      ? []
      : Array.from({ length: count }, (_, other) => other).flatMap((other) => {
          const swapped = other === model ? undefined : step(more, listNeighbours, other, -1);
          return swapped ? [swapped] : [];
        }),
  );
}

/** Returns the neighbour with the next number of instances of one model, up or down. */
function step(choice: Choice, listNeighbours: NeighboursOf, model: number, direction: 1 | -1): Choice | undefined {
  const choices = listParts(choice);
  const countInstances = (parts: readonly Choice[]): number => parts[model]?.policy.instances ?? 0;
  const now = countInstances(choices);
  return listNeighbours(choice)
    .filter((each) => {
      const parts = listParts(each);
      const isElsewhereAlike = parts.every((part, index) => index === model || part.key === choices[index]?.key);
      const isAlike = (parts[model] as Choice).largestBatch === (choices[model] as Choice).largestBatch;
      return isElsewhereAlike && isAlike && Math.sign(countInstances(parts) - now) === direction;
    })
    .sort((a, b) => direction * (countInstances(listParts(a)) - countInstances(listParts(b))))[0];
}
