import type { Choice } from '#perfmodel/modelled-config.ts';
import { assess } from '../../goal/goal.ts';
import type { Goal, History, LevelRange, Sampler, Trial } from '../../types.ts';
import { pruneReason } from '../pruning.ts';
import { createLattice, distance, type Lattice, neighbours, type Spot } from './lattice.ts';
import type { SpaceView } from './space-view.ts';

/**
 * The number of measured neighbours beyond the number of axes that is enough to estimate a
 * direction.
 */
const MORE_NEIGHBOURS = 1;
/** Thresholds of the mean gain: each one that is exceeded makes the step one longer. */
const STEP_GAINS = [0.09, 0.3, 1];

/**
 * Climbs over max batch size and number of instances, of each model if several are tuned together,
 * from the smallest of all (Model Analyzer's quick search). It measures neighbours within a radius
 * of three, steps along the mean gain, and stops when a step returns to an earlier point. All other
 * parameters keep the first value that the space lists. Levels begin at twice the places in all
 * batches.
 */
export function hillClimbSampler(
  space: SpaceView,
  options: { readonly goal: Goal; readonly levels: LevelRange },
): Sampler {
  let lattice: Lattice | undefined;
  return {
    ask(history) {
      lattice ??= createLattice(space);
      const choice = nextSpot(lattice, history, options.goal);
      if (!choice) return { kind: 'stop', reason: 'no neighbour of the best candidate is better' };
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

/**
 * Follows the steps from point to point while these are measured, and returns the first unmeasured
 * point; null at the end of the climb.
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

/** Returns the nearest of the points with the most values that are not yet measured around here. */
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
 * Returns the gain from one trial to another: ±1 if only one of them is feasible; else the relative
 * difference, from −2 to 2, of the objective, or of the violation where neither is.
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
