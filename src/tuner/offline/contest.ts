import type { Measurement } from '../../profiler/measurement.ts';
import type { Candidate } from '../../space/types.ts';
import { bestTrial, standingOf } from '../../study/ranking.ts';
import type { SpaceView } from '../../study/samplers/space-view.ts';
import type { Goal, LevelRange, Sampler, Trial } from '../../study/types.ts';
import { usualTrials } from '../../study/usual-trials.ts';
import { BASELINE } from '../run.ts';
import type { Profile } from '../seams.ts';
import { tune } from '../tune.ts';
import { type Problem, worthOf } from './problem.ts';
import { OfflineWorld, type WorldOptions } from './world.ts';

/** A sampler of a problem. */
export type MakeSampler = (
  space: SpaceView,
  options: { readonly seed: number; readonly goal: Goal; readonly levels: LevelRange },
) => Sampler;

/** How far a search was after so many measurements, those of the original config among them. */
export interface Standing {
  readonly measurements: number;
  /** Of the optimum, by what the pick truly does. */
  readonly share: number;
  readonly reloads: number;
  /** Seconds that a real run of this length would take. */
  readonly seconds: number;
}

export interface Outcome {
  readonly problem: Problem;
  /** After 1, 2, … measurements; a search that stopped keeps its last. */
  readonly standings: readonly Standing[];
  /** Where the sampler stopped by itself; null when the contest ended first. */
  readonly stoppedAfter: number | null;
  readonly trials: number;
  /** What the sampler gave its proposals, where it has a notion, and what became of it. */
  readonly promises: readonly Promised[];
}

/** A proposal with the chance that the sampler gave it to meet the goal. */
export interface Promised {
  /** 0 to 1. */
  readonly chance: number;
  /** Whether it truly does, at the level that was measured first, noise apart. */
  readonly isMet: boolean;
}

interface Measured {
  readonly trial: number;
  readonly candidate: Candidate;
  readonly measurement: Measurement;
  readonly reloads: number;
  readonly seconds: number;
}

/** Lets the sampler tune the problem with the tuner's own loop until so many measurements were made. */
export async function contest(
  problem: Problem,
  make: MakeSampler,
  measurements: number,
  options: WorldOptions,
): Promise<Outcome> {
  const { seed } = options;
  const { landscape } = problem;
  const { space, levels } = landscape;
  const goal = goalOf(problem);
  const world = new OfflineWorld(landscape, options);
  const made: Measured[] = [];
  let trial = 0;
  const promises: Promised[] = [];
  let promised: number | null = null;
  const enough = new AbortController();
  const profile: Profile = {
    measure: async (applied, level, options) => {
      if (made.length >= measurements) enough.abort(new Error('measured enough'));
      options.signal.throwIfAborted();
      const measurement = await world.profile.measure(applied, level, options);
      if (promised !== null) {
        const { latencyMs } = landscape.truth(applied.candidate, level.value);
        promises.push({ chance: promised, isMet: latencyMs.p99 <= problem.budgetMs });
        promised = null;
      }
      made.push({
        trial,
        candidate: applied.candidate,
        measurement,
        reloads: world.reloads,
        seconds: world.clock.nowNs() / 1e9,
      });
      return measurement;
    },
  };
  const sampler = make(space, { seed, goal, levels });
  // A sampler that decides by itself when it is enough does so as in a real run; how long each would be is not its aim here.
  const usual = { seconds: world.usualSeconds(usualTrials('queueing') ?? 0), isAim: false, loads: 0, loadSeconds: 0 };
  const state = await tune(
    { ...planOf(problem, goal, seed), usual },
    { control: world.control, profile, sampler, journal: { append: async () => undefined }, clock: world.clock },
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
  return { problem, standings, stoppedAfter: ended, trials: state.trials.length, promises };
}

/** The goal of the problem: throughput within its budget on p99. */
export const goalOf = ({ budgetMs }: Problem): Goal => ({
  budget: { percentile: 99, latencyMs: budgetMs },
  constraints: [],
  objectives: [{ metric: 'throughput', weight: 1 }],
});

/** A search without limits and without a final. */
export function planOf({ landscape }: Problem, goal: Goal, seed: number): Parameters<typeof tune>[0] {
  const { baseline, space, levels } = landscape;
  const identity = {
    name: 'offline',
    version: '',
    url: '',
    protocol: 'grpc',
    controlUrl: '',
    controlProtocol: 'grpc',
  } as const;
  return {
    study: {
      schemaVersion: 1,
      model: landscape.name,
      server: { ...identity, emulated: null },
      originalConfig: baseline.config,
      wasLoaded: true,
      goal,
      levels,
      sampler: '',
      seed,
      space: {},
      options: {},
      commandLine: [],
      trituneVersion: '',
    },
    baseline,
    build: space.build,
    maxTrials: Number.POSITIVE_INFINITY,
    timeBudgetMs: Number.POSITIVE_INFINITY,
    finalRounds: 0,
    allowForeignTraffic: false,
    earlier: [],
  };
}

/** By the study's own choice among what was measured, judged by the truth. */
function standingAfter(made: readonly Measured[], problem: Problem, goal: Goal, sampler: Sampler): Standing {
  const groups = Map.groupBy(made, ({ trial }) => trial);
  const trials = [...groups].map(([number, group]): Trial => {
    const { candidate } = group[0] as Measured;
    const measurements = group.map(({ measurement }) => measurement);
    return {
      number,
      role: number === BASELINE ? 'baseline' : 'search',
      candidate,
      measurements,
      ...standingOf(measurements, candidate, goal),
      failure: null,
    };
  });
  const doubted = sampler.doubted?.({ trials }) ?? [];
  const best = bestTrial(trials, goal, doubted);
  const level = best?.chosen == null ? undefined : best.measurements[best.chosen]?.level.value;
  const last = made.at(-1);
  const share =
    best?.feasible && level !== undefined ? worthOf(problem.landscape.truth(best.candidate, level), problem) : 0;
  return { measurements: made.length, share, reloads: last?.reloads ?? 0, seconds: last?.seconds ?? 0 };
}
