import type { Measurement } from '../../src/profiler/measurement.ts';
import type { Topology } from '../../src/space/topology.ts';
import type { Candidate } from '../../src/space/types.ts';
import { toSpec } from '../../src/spec/spec-of-options.ts';
import { bestTrial, computeStanding } from '../../src/study/goal/ranking.ts';
import { usualTrials } from '../../src/study/search/samplers/registry.ts';
import type { SpaceView } from '../../src/study/search/samplers/space-view.ts';
import type { Goal, LevelRange, Sampler, Trial } from '../../src/study/types.ts';
import type { TunedAdapter } from '../../src/tuner/adapter.ts';
import { BASELINE } from '../../src/tuner/run.ts';
import { tune } from '../../src/tuner/tune.ts';
import { type BudgetedProblem, isMetAt, type TestProblem, worthAt } from './problem.ts';
import { NOWHERE, OfflineWorld, REPLAY, type WorldOptions } from './world.ts';

/** Creates a sampler for a problem. */
export type MakeSampler = (
  space: SpaceView,
  options: {
    readonly seed: number;
    readonly goal: Goal;
    readonly levels: LevelRange;
    readonly topology?: Topology | undefined;
    /** The problem, for samplers that only serve as a comparison. */
    readonly testProblem?: TestProblem;
  },
) => Sampler;

/** The state of a search after a number of measurements, the baseline's included. */
export interface SearchStanding {
  readonly measurements: number;
  /** The true throughput of the search's pick as a share of the optimum, 0 to 1. */
  readonly share: number;
  readonly reloads: number;
  /** Seconds that a real run of this length would take. */
  readonly seconds: number;
}

/** The result of one search. */
export interface ContestOutcome {
  readonly problem: BudgetedProblem;
  /** One standing after each measurement; a search that stopped keeps its last. */
  readonly standings: readonly SearchStanding[];
  /** Measurements after which the sampler stopped by itself; null if the search was cut off. */
  readonly stoppedAfter: number | null;
  readonly trials: number;
  /** The sampler's chances for its proposals, if any, with the outcomes. */
  readonly promises: readonly Promised[];
  /** In order of time. */
  readonly made: readonly Measured[];
}

/** A stated chance that a config meets the goal at a level, and the outcome. */
export interface Promised {
  /** 0 to 1. */
  readonly chance: number;
  /** True if the truth meets the goal at that level; for a proposal, the one measured first. */
  readonly isMet: boolean;
}

/** A measurement of a search. */
export interface Measured {
  readonly trial: number;
  readonly candidate: Candidate;
  readonly measurement: Measurement;
  readonly reloads: number;
  /** Seconds since the search began. */
  readonly seconds: number;
  /** The true speed of the machine meanwhile. */
  readonly speed: number;
}

/** Runs a sampler on a problem with the tuner's own loop until this many measurements are made. */
export async function contest(
  problem: BudgetedProblem,
  make: MakeSampler,
  measurements: number,
  options: WorldOptions,
): Promise<ContestOutcome> {
  const { seed } = options;
  const { testProblem } = problem;
  const { space, levels, topology } = testProblem;
  const goal = toGoal(problem);
  const world = new OfflineWorld(testProblem, options);
  const made: Measured[] = [];
  let trial = 0;
  const promises: Promised[] = [];
  let promised: number | null = null;
  const enough = new AbortController();
  const adapter: TunedAdapter = {
    ...world.adapter,
    measure: async (applied, level, options) => {
      if (made.length >= measurements) enough.abort(new Error('measured enough'));
      options.signal.throwIfAborted();
      const fromSeconds = world.seconds;
      const measurement = await world.adapter.measure(applied, level, options);
      if (promised !== null) {
        promises.push({ chance: promised, isMet: isMetAt(problem, applied.candidate, level.value) });
        promised = null;
      }
      made.push({
        trial,
        candidate: applied.candidate,
        measurement,
        reloads: world.reloads,
        seconds: world.seconds,
        speed: world.speedBetween(fromSeconds, world.seconds),
      });
      return measurement;
    },
  };
  const sampler = make(space, { seed, goal, levels, topology, testProblem });
  // The queueing sampler adapts its length as in a real run; the expected duration is not an aim
  // here.
  const usual = { seconds: world.usualSeconds(usualTrials('queueing') ?? 0), isAim: false, loads: 0, loadSeconds: 0 };
  const state = await tune(
    { ...createPlan(problem, goal, seed), usual },
    { adapter, sampler, journal: { append: async () => undefined }, clock: world.clock },
    (event) => {
      if (event.type === 'trial-started') trial = event.trial;
      if (event.type === 'proposed') promised = event.chance;
    },
    enough.signal,
  );
  const standings = Array.from({ length: measurements }, (_, index) =>
    standingAfter(made.slice(0, index + 1), problem, goal, sampler),
  );
  const ended = state.finished?.interrupted === true ? null : made.length;
  return { problem, standings, stoppedAfter: ended, trials: state.trials.length, promises, made };
}

/** Returns the goal of a problem: its own, or throughput within its budget on p99. */
export const toGoal = ({ budgetMs, testProblem }: BudgetedProblem): Goal =>
  testProblem.goal ?? {
    budget: { percentile: 99, latencyMs: budgetMs },
    constraints: [],
    objectives: [{ metric: 'throughput', weight: 1 }],
  };

/** Returns the plan of a search without limits and without a final. */
export function createPlan({ testProblem }: BudgetedProblem, goal: Goal, seed: number): Parameters<typeof tune>[0] {
  const { baseline, levels } = testProblem;
  return {
    study: {
      schemaVersion: 2,
      adapter: REPLAY,
      model: testProblem.name,
      server: NOWHERE,
      original: baseline,
      wasLoaded: true,
      goal,
      levels,
      sampler: '',
      seed,
      space: {},
      spec: toSpec({ model: testProblem.name }),
      commandLine: [],
      trituneVersion: '',
    },
    maxTrials: Number.POSITIVE_INFINITY,
    timeBudgetMs: Number.POSITIVE_INFINITY,
    finalRounds: 0,
    allowForeignTraffic: false,
    earlier: [],
  };
}

/**
 * Returns the standing after these measurements. Computes its share on demand, because the
 * sampler's doubts need a fit.
 */
function standingAfter(
  made: readonly Measured[],
  problem: BudgetedProblem,
  goal: Goal,
  sampler: Sampler,
): SearchStanding {
  const last = made.at(-1);
  let share: number | undefined;
  return {
    measurements: made.length,
    get share() {
      share ??= shareAfter(made, problem, goal, sampler);
      return share;
    },
    reloads: last?.reloads ?? 0,
    seconds: last?.seconds ?? 0,
  };
}

/** Returns the share of the study's own pick, judged by the truth. */
function shareAfter(made: readonly Measured[], problem: BudgetedProblem, goal: Goal, sampler: Sampler): number {
  const groups = Map.groupBy(made, ({ trial }) => trial);
  const trials = [...groups].map(([number, group]): Trial => {
    const { candidate } = group[0] as Measured;
    const measurements = group.map(({ measurement }) => measurement);
    return {
      number,
      role: number === BASELINE ? 'baseline' : 'search',
      candidate,
      measurements,
      ...computeStanding(measurements, candidate, goal),
      failure: null,
    };
  });
  const doubted = sampler.doubted?.({ trials }) ?? [];
  const best = bestTrial(trials, goal, doubted);
  const level = best?.chosen == null ? undefined : best.measurements[best.chosen]?.level.value;
  return best?.feasible && level !== undefined ? worthAt(problem, best.candidate, level) : 0;
}
