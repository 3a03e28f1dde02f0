import type { Choice } from '../../../perfmodel/modelled-config.ts';
import { assess } from '../../goal/goal.ts';
import type { Goal, History, LevelRange, Sampler, Trial } from '../../types.ts';
import { pruneReason } from '../pruning.ts';
import { choicesOf } from '../queueing/choices.ts';
import type { SpaceView } from './space-view.ts';

/** A point of the lattice: indexes of max batch size and of the number of instances among the space's values. */
interface Spot {
  readonly batch: number;
  readonly instances: number;
}

interface Lattice {
  readonly batches: readonly number[];
  readonly instances: readonly number[];
  at(spot: Spot): Choice | undefined;
}

/** The radius of the neighbourhood, in lattice steps, … */
const RADIUS = 3;
/** … and the measured neighbours that are enough to estimate a direction. */
const ENOUGH_NEIGHBOURS = 3;
/** Thresholds of the mean gain: each that is exceeded makes the step one longer. */
const STEP_GAINS = [0.09, 0.3, 1];

/**
 * Climbs over max batch size and number of instances, from the smallest of both (Model Analyzer's quick search): measures neighbours within
 * a radius of three, steps along the mean gain, and stops when a step leads to a point it has already been at. All other parameters keep
 * the first value that the space lists. Levels begin at twice the places in all batches.
 */
export function hillClimbSampler(
  space: SpaceView,
  options: { readonly goal: Goal; readonly levels: LevelRange },
): Sampler {
  let lattice: Lattice | undefined;
  return {
    ask(history) {
      lattice ??= latticeOf(choicesOf(space, 0));
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

function latticeOf(choices: readonly Choice[]): Lattice {
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
  return { batches, instances, at: (spot) => spots.get(`${batches[spot.batch]} ${instances[spot.instances]}`) };
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
  let home: Spot = { batch: 0, instances: 0 };
  for (;;) {
    if (isOpen(home)) return lattice.at(home) ?? null;
    visited.add(`${home.batch} ${home.instances}`);
    const around = neighbours(lattice, home);
    const measured = around.filter((spot) => trialAt(spot)?.chosen != null);
    if (measured.length < ENOUGH_NEIGHBOURS) {
      const spot = mostTelling(around.filter(isOpen), measured, home);
      if (spot) return lattice.at(spot) ?? null;
    }
    const next = stepFrom(home, measured, lattice, (spot) => trialAt(spot), goal);
    if (visited.has(`${next.batch} ${next.instances}`)) return null;
    home = next;
  }
}

function neighbours({ batches, instances, at }: Lattice, home: Spot): Spot[] {
  const all = batches.flatMap((_, batch) => instances.map((__, instance) => ({ batch, instances: instance })));
  return all.filter((spot) => {
    const distance = Math.hypot(spot.batch - home.batch, spot.instances - home.instances);
    return distance > 0 && distance <= RADIUS && at(spot) !== undefined;
  });
}

/** Returns the nearest of the points with the most values that were not measured around here yet. */
function mostTelling(open: readonly Spot[], measured: readonly Spot[], home: Spot): Spot | undefined {
  const seen = [home, ...measured];
  const news = (spot: Spot): number =>
    Number(!seen.some(({ batch }) => batch === spot.batch)) +
    Number(!seen.some(({ instances }) => instances === spot.instances));
  const distance = (spot: Spot): number => Math.hypot(spot.batch - home.batch, spot.instances - home.instances);
  return [...open].sort((a, b) => news(b) - news(a) || distance(a) - distance(b))[0];
}

function stepFrom(
  home: Spot,
  measured: readonly Spot[],
  { batches, instances }: Lattice,
  trialAt: (spot: Spot) => Trial | undefined,
  goal: Goal,
): Spot {
  const meanGain = (axis: keyof Spot): number => {
    let [sum, total] = [0, 0];
    for (const spot of measured) {
      const along = spot[axis] - home[axis];
      if (along === 0) continue;
      sum +=
        (gainBetween(trialAt(home), trialAt(spot), goal) * along) /
        Math.hypot(spot.batch - home.batch, spot.instances - home.instances);
      total++;
    }
    return total > 0 ? sum / total : 0;
  };
  const move = (axis: keyof Spot, count: number): number => {
    const gain = meanGain(axis);
    const size = STEP_GAINS.filter((least) => Math.abs(gain) > least).length;
    return Math.min(count - 1, Math.max(0, home[axis] + Math.sign(gain) * size));
  };
  return { batch: move('batch', batches.length), instances: move('instances', instances.length) };
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
