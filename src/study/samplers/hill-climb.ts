import type { Choice } from '../../perfmodel/modelled-config.ts';
import { assess } from '../goal.ts';
import { pruneReason } from '../pruning.ts';
import type { Goal, History, LevelRange, Sampler, Trial } from '../types.ts';
import { choicesOf } from './queueing/choices.ts';
import type { SpaceView } from './space-view.ts';

/** A place on the lattice: indexes of the max batch size and of the number of instances among the space's values. */
interface Spot {
  readonly batch: number;
  readonly instances: number;
}

interface Lattice {
  readonly batches: readonly number[];
  readonly instances: readonly number[];
  at(spot: Spot): Choice | undefined;
}

/** Spots this near to home are its neighbourhood; with so many of them measured a direction is known. */
const RADIUS = 3;
const ENOUGH_NEIGHBOURS = 3;
/** A mean gain above each of these makes the step one longer. */
const STEP_GAINS = [0.09, 0.3, 1];

/**
 * Climbs over max batch size and number of instances from the smallest of both, as Model Analyzer's quick search does:
 * looks around within a radius of three, steps where the gains point, and stops when a step leads nowhere new. Everything
 * else stays as the space lists it first; levels begin at twice the places in all batches.
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
    const fits = choice.variant === first?.variant && (choice.largestBatch > 1 || maxBatchSize <= 1);
    if (fits && (known === undefined || choice.delayUs < known.delayUs)) spots.set(key, choice);
  }
  const values = (of: (choice: Choice) => number): number[] =>
    [...new Set([...spots.values()].map(of))].sort((a, b) => a - b);
  const batches = values(({ policy }) => policy.maxBatchSize);
  const instances = values(({ policy }) => policy.instances);
  return { batches, instances, at: (spot) => spots.get(`${batches[spot.batch]} ${instances[spot.instances]}`) };
}

/** Follows the steps that the measured spots lead to, up to the first spot that must be measured. */
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

/** The nearest of those that bring the most values not measured around here yet. */
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

/** From −1 to 1 where only one of them meets the goal; else relative, by the objective or by what the goal is missed by. */
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
