import type { GpuMemory } from '../perfmodel/memory/gpu-memory.ts';
import type { Narrowing } from '../space/narrowing.ts';
import type { Topology } from '../space/topology.ts';
import type { Assignment, Candidate } from '../space/types.ts';
import type { SpaceView } from '../study/search/samplers/space-view.ts';
import type { LevelRange } from '../study/types.ts';
import { atSpeed, type Truth } from './truth.ts';

/** A test problem: a recorded or synthetic model that is tuned without a server. */
export interface TestProblem {
  readonly name: string;
  readonly space: SpaceView;
  readonly baseline: Candidate;
  readonly levels: LevelRange;
  /** Relative standard deviation of a measurement: of throughput, and of the percentile. */
  readonly noise: { readonly throughput: number; readonly latency: number };
  /** The levels at which the optimum is searched for. */
  readonly gridLevels: readonly number[];
  truth(candidate: Candidate, level: number): Truth;
  /** The server's message when it cannot load the candidate; null when it can. */
  refusal(candidate: Candidate): string | null;
  /** GPU memory in use while the candidate is served, where it may run out. */
  gpuMemory?(candidate: Candidate): GpuMemory;
  /** Duration of a full load. */
  loadMs(candidate: Candidate): number;
  /** Duration of a change of instances alone, where it is known. */
  readonly inPlaceMs?: number | undefined;
  /** The fronts and stages, where the problem is a pipeline. */
  readonly topology?: Topology;
  /** Returns the space with some parameters left out, where several models are tuned together. */
  narrowed?(narrowing: Narrowing): SpaceView;
  /** Budgets with their optima, where the space is too large to be gone through for them. */
  readonly budgets?: readonly KnownBudget[];
}

/** A budget with the best throughput within it. */
export interface KnownBudget {
  readonly tightness: Tightness;
  readonly budgetMs: number;
  readonly optimum: number;
  /** What serves that. */
  readonly assignment: Assignment;
  readonly level: number;
}

/** Memoizes a truth by candidate and level. */
export function memoizedTruth(truth: TestProblem['truth']): TestProblem['truth'] {
  const known = new Map<string, Truth>();
  return (candidate, level) => {
    const key = `${candidate.fingerprint} ${level}`;
    const found = known.get(key) ?? truth(candidate, level);
    known.set(key, found);
    return found;
  };
}

/** A test problem with a budget on p99, and the best throughput within that. */
export interface BudgetedProblem {
  readonly testProblem: TestProblem;
  readonly tightness: Tightness;
  readonly budgetMs: number;
  readonly optimum: number;
}

export type Tightness = 'tight' | 'middle' | 'loose';

/** The place of a budget between the lowest p99 and that of the highest throughput, on a logarithmic scale. */
const SHARES: Readonly<Record<Tightness, number>> = { tight: 0.2, middle: 0.5, loose: 0.85 };
export const TIGHTNESSES = Object.keys(SHARES) as readonly Tightness[];
/** The least ratio of a budget to the lowest p99; a nearer one would be met by luck alone. */
const LEAST_ROOM = 1.25;
/** The optimum's p99 is at most this share of the budget; one at the very edge could not be recognised. */
export const EDGE = 0.97;

/**
 * Returns the test problem with a tight, a middle and a loose budget. `slowest`: the lowest speed of a machine whose speed changes; it must
 * be able to keep the budget.
 */
export function budgetedProblemsOf(testProblem: TestProblem, slowest = 1): BudgetedProblem[] {
  if (testProblem.budgets)
    return testProblem.budgets.map(({ tightness, budgetMs, optimum }) => ({
      testProblem,
      tightness,
      budgetMs,
      optimum,
    }));
  const truths = everyTruth(testProblem).map((truth) => atSpeed(truth, slowest));
  const lowest = Math.min(...truths.map(({ latencyMs }) => latencyMs.p99));
  const fastest = truths.reduce((best, each) => (each.throughput > best.throughput ? each : best));
  return TIGHTNESSES.map((tightness) => {
    const budgetMs = budgetOf(tightness, lowest, fastest.latencyMs.p99);
    return problemAtSpeed({ testProblem, tightness, budgetMs, optimum: 0 }, 1);
  });
}

/** Returns a budget in milliseconds between the lowest p99 and that of the highest throughput. */
export const budgetOf = (tightness: Tightness, lowestMs: number, fastestMs: number): number =>
  Number((lowestMs * Math.max(LEAST_ROOM, (fastestMs / lowestMs) ** SHARES[tightness])).toPrecision(3));

/** Returns the same problem on a machine of another speed, with the optimum there. */
export function problemAtSpeed(problem: BudgetedProblem, speed: number): BudgetedProblem {
  const truth: TestProblem['truth'] = (candidate, level) => atSpeed(problem.testProblem.truth(candidate, level), speed);
  const testProblem = { ...problem.testProblem, truth };
  const within = everyTruth(testProblem).filter(({ latencyMs }) => latencyMs.p99 <= EDGE * problem.budgetMs);
  return { ...problem, testProblem, optimum: Math.max(0, ...within.map(({ throughput }) => throughput)) };
}

function everyTruth({ space, refusal, truth, gridLevels }: TestProblem): Truth[] {
  const found = new Map<string, Candidate>();
  for (const assignment of space.assignments()) {
    const outcome = space.build(assignment);
    if (outcome.legal && refusal(outcome.candidate) === null)
      found.set(outcome.candidate.fingerprint, outcome.candidate);
  }
  return [...found.values()].flatMap((candidate) => gridLevels.map((level) => truth(candidate, level)));
}

/** A p99 up to this multiple of the budget gets full credit; from there credit falls to nothing at the second. */
const FORGIVEN = 1.05;
const HOPELESS = 1.25;

/** Returns the worth of a pick as a share of the optimum, 0 to 1: its true throughput, less credit where it truly exceeds the budget. */
export function worthOf({ throughput, latencyMs }: Truth, { budgetMs, optimum }: BudgetedProblem): number {
  const excess = latencyMs.p99 / budgetMs;
  const credit = Math.min(1, Math.max(0, (HOPELESS - excess) / (HOPELESS - FORGIVEN)));
  return Math.min(1, (credit * throughput) / optimum);
}
