import type { GpuMemory } from '../../src/perfmodel/gpu-memory.ts';
import type { Narrowing } from '../../src/space/narrowing.ts';
import type { Topology } from '../../src/space/topology.ts';
import type { Assignment, Candidate } from '../../src/space/types.ts';
import { assess, listConstraints } from '../../src/study/goal/goal.ts';
import { toMetrics } from '../../src/study/goal/metrics/registry.ts';
import type { SpaceView } from '../../src/study/search/samplers/space-view.ts';
import type { Goal, LevelRange } from '../../src/study/types.ts';
import type { ArrivalPlan } from '../../src/workload/arrival-plan.ts';
import type { StudyWorkloads } from '../../src/workload/study-workloads.ts';
import { toMeasurement } from './measurement-of.ts';
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
  /**
   * The workloads that it is tuned for, and a candidate's true behaviour under arrivals; absent for
   * even traffic.
   */
  readonly under?: {
    readonly workloads: StudyWorkloads;
    truth(candidate: Candidate, plan: ArrivalPlan): Truth;
  };
  /** Returns the server's message if it cannot load the candidate; else null. */
  refusal(candidate: Candidate): string | null;
  /** Returns the GPU memory in use while the candidate is served, if it may run out. */
  gpuMemory?(candidate: Candidate): GpuMemory;
  /** Duration of a full load. */
  loadMs(candidate: Candidate): number;
  /** Duration of a change of instances alone, if known. */
  readonly inPlaceMs?: number | undefined;
  /** The fronts and stages, if the problem is a pipeline. */
  readonly topology?: Topology;
  /** Returns the space without some parameters, if several models are tuned together. */
  narrowed?(narrowing: Narrowing): SpaceView;
  /** Budgets with their optima, if the space is too large to enumerate. */
  readonly budgets?: readonly KnownBudget[];
  /** The goal, if it is not throughput within a budget on p99. */
  readonly goal?: Goal;
}

/** A budget with the best throughput within it. */
export interface KnownBudget {
  readonly tightness: Tightness;
  readonly budgetMs: number;
  readonly optimum: number;
  /** The assignment with that throughput. */
  readonly assignment: Assignment;
  readonly level: number;
}

/** Memoizes a truth by candidate and level. */
export function memoizedTruth(truth: TestProblem['truth']): TestProblem['truth'] {
  const known = new Map<string, Truth>();
  return (candidate, level) => {
    const key = `${candidate.fingerprint} ${level}`;
    const memoizedTruthAt = known.get(key) ?? truth(candidate, level);
    known.set(key, memoizedTruthAt);
    return memoizedTruthAt;
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

/**
 * The position of a budget between the lowest p99 and that of the highest throughput, on a
 * logarithmic scale.
 */
const SHARES: Readonly<Record<Tightness, number>> = { tight: 0.2, middle: 0.5, loose: 0.85 };
export const TIGHTNESSES = Object.keys(SHARES) as readonly Tightness[];
/** The smallest ratio of a budget to the lowest p99; a lower one would be met by chance only. */
const MIN_ROOM = 1.25;
/**
 * The optimum's p99 is at most this share of the budget; an optimum at the very edge could not be
 * recognised.
 */
export const EDGE = 0.97;

/**
 * Returns the test problem with a tight, a middle and a loose budget. `slowest`: the lowest speed
 * of a machine with changing speed, at which the budget must still be achievable.
 */
export function listBudgetedProblems(testProblem: TestProblem, slowest = 1): BudgetedProblem[] {
  if (testProblem.budgets)
    return testProblem.budgets.map(({ tightness, budgetMs, optimum }) => ({
      testProblem,
      tightness,
      budgetMs,
      optimum,
    }));
  if (testProblem.goal) return [toGoalProblem(testProblem, testProblem.goal)];
  const truths = everyTruth(testProblem).map((truth) => atSpeed(truth, slowest));
  const lowest = Math.min(...truths.map(({ latencyMs }) => latencyMs.p99));
  const fastest = truths.reduce((best, each) => (each.throughput > best.throughput ? each : best));
  return TIGHTNESSES.map((tightness) => {
    const budgetMs = computeBudget(tightness, lowest, fastest.latencyMs.p99);
    return problemAtSpeed({ testProblem, tightness, budgetMs, optimum: 0 }, 1);
  });
}

/** Returns a budget in milliseconds between the lowest p99 and that of the highest throughput. */
export const computeBudget = (tightness: Tightness, lowestMs: number, fastestMs: number): number =>
  Number((lowestMs * Math.max(MIN_ROOM, (fastestMs / lowestMs) ** SHARES[tightness])).toPrecision(3));

/** Returns the same problem on a machine of another speed, with the optimum there. */
export function problemAtSpeed(problem: BudgetedProblem, speed: number): BudgetedProblem {
  const truth: TestProblem['truth'] = (candidate, level) => atSpeed(problem.testProblem.truth(candidate, level), speed);
  const testProblem = { ...problem.testProblem, truth };
  const within = everyTruth(testProblem).filter(({ latencyMs }) => latencyMs.p99 <= EDGE * problem.budgetMs);
  return { ...problem, testProblem, optimum: Math.max(0, ...within.map(({ throughput }) => throughput)) };
}

const everyTruth = (testProblem: TestProblem): Truth[] => everyPoint(testProblem).map(({ truth }) => truth);

/** Returns the true figures of every loadable candidate at the levels of the grid. */
function everyPoint({ space, refusal, truth, gridLevels }: TestProblem): { candidate: Candidate; truth: Truth }[] {
  const candidates = new Map<string, Candidate>();
  for (const assignment of space.assignments()) {
    const outcome = space.build(assignment);
    if (outcome.legal && refusal(outcome.candidate) === null)
      candidates.set(outcome.candidate.fingerprint, outcome.candidate);
  }
  return [...candidates.values()].flatMap((candidate) =>
    gridLevels.map((level) => ({ candidate, truth: truth(candidate, level) })),
  );
}

/**
 * A p99 up to this multiple of the budget gets full credit; from there credit falls to nothing at
 * the second.
 */
const FORGIVEN = 1.05;
const HOPELESS = 1.25;

/**
 * Returns the worth of a pick as a share of the optimum, 0 to 1: its true throughput, with less
 * credit if it truly exceeds the budget.
 */
export const computeWorth = ({ throughput, latencyMs }: Truth, { budgetMs, optimum }: BudgetedProblem): number =>
  Math.min(1, (computeCredit(latencyMs.p99 / budgetMs) * throughput) / optimum);

/**
 * Returns the worth of a candidate at a level: `computeWorth` its truth, or the worth of the goal's
 * objective, with less credit in the same way.
 */
export function worthAt(problem: BudgetedProblem, candidate: Candidate, level: number): number {
  const truth = problem.testProblem.truth(candidate, level);
  const { goal } = problem.testProblem;
  if (!goal) return computeWorth(truth, problem);
  const { objective, excess } = standingOfTruth(truth, candidate, goal);
  return Math.min(1, (computeCredit(excess) * objective) / problem.optimum);
}

/** True if a candidate truly meets the problem's goal at a level. */
export function isMetAt({ testProblem, budgetMs }: BudgetedProblem, candidate: Candidate, level: number): boolean {
  const truth = testProblem.truth(candidate, level);
  return (
    (testProblem.goal ? standingOfTruth(truth, candidate, testProblem.goal).excess : truth.latencyMs.p99 / budgetMs) <=
    1
  );
}

const computeCredit = (excess: number): number => Math.min(1, Math.max(0, (HOPELESS - excess) / (HOPELESS - FORGIVEN)));

const EXACTLY = { rate: 1, latency: 1, rateWidth: 0, latencyWidth: 0 };

/**
 * Returns exp(−cost) of a truth, and the largest ratio by which it misses a constraint; 1 at the
 * limit.
 */
function standingOfTruth(truth: Truth, candidate: Candidate, goal: Goal): { objective: number; excess: number } {
  const measurement = toMeasurement(truth, { mode: 'concurrency', value: 1 }, EXACTLY);
  const excesses = listConstraints(goal).map(({ metric, relation, value }) => {
    const read =
      metric === 'latency' ? truth.latencyMs.p99 : (toMetrics(goal).read(metric, measurement, candidate) ?? 0);
    return relation === '<=' ? read / value : value / read;
  });
  return { objective: Math.exp(-assess(measurement, candidate, goal).cost), excess: Math.max(0, ...excesses) };
}

/** Returns the problem of a goal with its optimum. */
function toGoalProblem(testProblem: TestProblem, goal: Goal): BudgetedProblem {
  const within = everyPoint(testProblem)
    .map(({ candidate, truth }) => standingOfTruth(truth, candidate, goal))
    .filter(({ excess }) => excess <= EDGE);
  const optimum = Math.max(0, ...within.map(({ objective }) => objective));
  return { testProblem, tightness: 'middle', budgetMs: goal.budget?.latencyMs ?? Number.POSITIVE_INFINITY, optimum };
}
