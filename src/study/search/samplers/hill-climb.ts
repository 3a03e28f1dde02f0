import { type Choice, choiceOf, partsOf } from '../../../perfmodel/modelled-config.ts';
import { assess } from '../../goal/goal.ts';
import type { Goal, History, LevelRange, Sampler, Trial } from '../../types.ts';
import { pruneReason } from '../pruning.ts';
import { choicesOf } from '../queueing/choices.ts';
import type { SpaceView } from './space-view.ts';

/** A point of the lattice: indexes among the values of each axis. */
type Spot = readonly number[];

/** For each model its largest batches and its numbers of instances, as two axes; of one model alone there are two. */
interface Lattice {
  readonly axes: readonly (readonly number[])[];
  at(spot: Spot): Choice | undefined;
}

/** The radius of the neighbourhood, in lattice steps, … */
const RADIUS = 3;
/** … the axes along which a neighbour differs, at most, … */
const MOST_AXES = 2;
/** … and by how much more than the axes the measured neighbours are enough to estimate a direction. */
const MORE_NEIGHBOURS = 1;
/** Thresholds of the mean gain: each that is exceeded makes the step one longer. */
const STEP_GAINS = [0.09, 0.3, 1];

/**
 * Climbs over max batch size and number of instances, of each model where several are tuned together, from the smallest of all (Model Analyzer's
 * quick search): measures neighbours within a radius of three, steps along the mean gain, and stops when a step leads to a point it has already
 * been at. All other parameters keep the first value that the space lists. Levels begin at twice the places in all batches.
 */
export function hillClimbSampler(
  space: SpaceView,
  options: { readonly goal: Goal; readonly levels: LevelRange },
): Sampler {
  let lattice: Lattice | undefined;
  return {
    ask(history) {
      lattice ??= latticeOf(space);
      const choice = nextSpot(lattice, history, options.goal);
      if (!choice) return { kind: 'stop', reason: 'no step leads to a better place' };
      const { low, high } = options.levels;
      const start = Math.min(
        high,
        Math.max(low, 2 * choice.policy.instances * Math.max(1, choice.policy.maxBatchSize)),
      );
      const levels =
        options.levels.mode === 'concurrency' ? ({ kind: 'search', start } as const) : ({ kind: 'search' } as const);
      return { kind: 'trial', assignment: choice.candidate.assignment, levels };
    },
  };
}

function latticeOf(space: SpaceView): Lattice {
  const choices = choicesOf(space, 0);
  const members = partsOf(choices[0] as Choice).map((_, index) =>
    spotsOf(choices.map((choice) => partsOf(choice)[index] as Choice)),
  );
  const whole = memoize((spot: Spot): Choice | undefined => {
    const parts = members.map(({ at }, index) => at(spot.slice(2 * index, 2 * index + 2)));
    if (parts.includes(undefined)) return undefined;
    const outcome = space.build(Object.assign({}, ...parts.map((part) => part?.candidate.assignment)));
    return outcome.legal ? choiceOf(outcome.candidate) : undefined;
  });
  const [only, ...others] = members;
  return { axes: members.flatMap(({ axes }) => axes), at: only && others.length === 0 ? only.at : whole };
}

/** The lattice of one model. */
function spotsOf(choices: readonly Choice[]): Lattice {
  const first = choices.find(({ largestBatch }) => largestBatch > 1) ?? choices[0];
  const spots = new Map<string, Choice>();
  for (const choice of choices) {
    const { maxBatchSize, instances } = choice.policy;
    const key = `${maxBatchSize} ${instances}`;
    const known = spots.get(key);
    const fits = choice.settingsKey === first?.settingsKey && (choice.largestBatch > 1 || maxBatchSize <= 1);
    if (fits && (known === undefined || choice.delayUs < known.delayUs)) spots.set(key, choice);
  }
  const values = (of: (choice: Choice) => number): number[] =>
    [...new Set([...spots.values()].map(of))].sort((a, b) => a - b);
  const batches = values(({ policy }) => policy.maxBatchSize);
  const instances = values(({ policy }) => policy.instances);
  const at = ([batch = 0, count = 0]: Spot): Choice | undefined => spots.get(`${batches[batch]} ${instances[count]}`);
  return { axes: [batches, instances], at };
}

function memoize(of: (spot: Spot) => Choice | undefined): (spot: Spot) => Choice | undefined {
  const known = new Map<string, Choice | undefined>();
  return (spot) => {
    const key = spot.join(' ');
    if (!known.has(key)) known.set(key, of(spot));
    return known.get(key);
  };
}

/**
 * Follows the steps from point to point as far as they are measured, and returns the first point that is not; null at the end of the climb.
 */
function nextSpot(lattice: Lattice, history: History, goal: Goal): Choice | null {
  const trials = new Map(history.trials.map((trial) => [trial.candidate.fingerprint, trial] as const));
  const trialAt = (spot: Spot): Trial | undefined => {
    const choice = lattice.at(spot);
    return choice && trials.get(choice.candidate.fingerprint);
  };
  const isOpen = (spot: Spot): boolean => {
    const choice = lattice.at(spot);
    return choice !== undefined && !trialAt(spot) && pruneReason(choice.candidate, history.trials) === null;
  };
  const visited = new Set<string>();
  let home: Spot = lattice.axes.map(() => 0);
  for (;;) {
    if (isOpen(home)) return lattice.at(home) ?? null;
    visited.add(home.join(' '));
    const around = neighbours(lattice, home);
    const measured = around.filter((spot) => trialAt(spot)?.chosen != null);
    if (measured.length < lattice.axes.length + MORE_NEIGHBOURS) {
      const spot = mostTelling(around.filter(isOpen), measured, home);
      if (spot) return lattice.at(spot) ?? null;
    }
    const next = stepFrom(home, measured, lattice, (spot) => trialAt(spot), goal);
    if (visited.has(next.join(' '))) return null;
    home = next;
  }
}

/** Returns the points around one, in the order of their indexes. */
function neighbours({ axes, at }: Lattice, home: Spot): readonly Spot[] {
  const offsets = Array.from({ length: 2 * RADIUS + 1 }, (_, index) => index - RADIUS);
  const found = new Map<string, Spot>();
  const add = (spot: Spot, from: number, left: number): void => {
    if (left === 0) return;
    for (let axis = from; axis < axes.length; axis++) {
      for (const offset of offsets) {
        const next = spot.with(axis, (spot[axis] as number) + offset);
        const isOnAxis = axes[axis]?.[next[axis] as number] !== undefined;
        if (offset === 0 || !isOnAxis || distance(next, home) > RADIUS) continue;
        if (at(next) !== undefined) found.set(next.join(' '), next);
        add(next, axis + 1, left - 1);
      }
    }
  };
  add(home, 0, MOST_AXES);
  return [...found.values()].sort(inOrder);
}

const inOrder = (a: Spot, b: Spot): number => {
  const axis = a.findIndex((index, at) => index !== b[at]);
  return axis < 0 ? 0 : (a[axis] as number) - (b[axis] as number);
};

const distance = (a: Spot, b: Spot): number => Math.hypot(...a.map((index, axis) => index - (b[axis] as number)));

/** Returns the nearest of the points with the most values that were not measured around here yet. */
function mostTelling(open: readonly Spot[], measured: readonly Spot[], home: Spot): Spot | undefined {
  const seen = [home, ...measured];
  const news = (spot: Spot): number => spot.filter((index, axis) => !seen.some((one) => one[axis] === index)).length;
  return [...open].sort((a, b) => news(b) - news(a) || distance(a, home) - distance(b, home))[0];
}

function stepFrom(
  home: Spot,
  measured: readonly Spot[],
  { axes }: Lattice,
  trialAt: (spot: Spot) => Trial | undefined,
  goal: Goal,
): Spot {
  const meanGain = (axis: number): number => {
    let [sum, total] = [0, 0];
    for (const spot of measured) {
      const along = (spot[axis] as number) - (home[axis] as number);
      if (along === 0) continue;
      sum += (gainBetween(trialAt(home), trialAt(spot), goal) * along) / distance(spot, home);
      total++;
    }
    return total > 0 ? sum / total : 0;
  };
  return home.map((index, axis) => {
    const gain = meanGain(axis);
    const size = STEP_GAINS.filter((least) => Math.abs(gain) > least).length;
    return Math.min((axes[axis] as readonly number[]).length - 1, Math.max(0, index + Math.sign(gain) * size));
  });
}

/**
 * Returns the gain from one trial to another: ±1 where only one of them is feasible; else the relative difference, from −2 to 2, of the
 * objective, or of the violation where neither is.
 */
function gainBetween(from: Trial | undefined, to: Trial | undefined, goal: Goal): number {
  const [a, b] = [from, to].map((trial) => {
    const measurement = trial?.chosen == null ? undefined : trial.measurements[trial.chosen];
    return trial && measurement ? assess(measurement, trial.candidate, goal) : null;
  });
  if (!a || !b) return a ? -1 : b ? 1 : 0;
  if (a.feasible !== b.feasible) return b.feasible ? 1 : -1;
  const [x, y] = a.feasible ? [Math.exp(-a.cost), Math.exp(-b.cost)] : [1 / (1 + a.violation), 1 / (1 + b.violation)];
  return x + y > 0 ? (2 * (y - x)) / (x + y) : 0;
}
