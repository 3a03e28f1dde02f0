import { VirtualClock } from '#base/clock.ts';
import { MS_PER_S, NS_PER_MS } from '#base/units.ts';
import { Conductor } from '#fleet/study/conductor.ts';
import type { StudyEnd, WorkReport } from '#fleet/study/report.ts';
import type { Work, WorkOutcome } from '#fleet/study/work.ts';
import { WorkRunner } from '#fleet/work-runner.ts';
import { representative } from '#study/final/final.ts';
import type { StudyRecord } from '#study/records/records.ts';
import type { StudyState } from '#study/records/state.ts';
import { steadySpeeds } from '#study/speed/speeds.ts';
import { createPlan, type MakeSampler, toGoal } from '../../lab/problems/contest.ts';
import { type BudgetedProblem, computeWorth } from '../../lab/problems/problem.ts';
import { OfflineWorld } from '../../lab/problems/world.ts';

/** A study over simulated servers, in virtual time. */
export interface VirtualFleet {
  readonly problem: BudgetedProblem;
  readonly make: MakeSampler;
  readonly seed: number;
  /** The speed of each server; one for each. */
  readonly speeds: readonly number[];
  readonly maxTrials?: number;
  readonly finalRounds?: number;
  /**
   * Called with each outcome before the conductor hears of it; what it returns is told in its
   * place.
   */
  readonly disturb?: (outcome: WorkOutcome) => WorkOutcome;
  /** What the conductor is told besides, or in place of that, by the trials that have finished. */
  readonly report?: (finished: number) => Partial<WorkReport>;
}

export interface FleetOutcome {
  readonly state: StudyState;
  readonly records: readonly StudyRecord[];
  readonly end: StudyEnd;
  /** Until the search was over, and until the final was. */
  readonly searchSeconds: number;
  readonly seconds: number;
  /** The mean share of the search's time in which servers were busy, 0 to 1. */
  readonly busy: number;
  /**
   * The true throughput of the recommended config as a share of the optimum, on the first server.
   */
  readonly share: number;
}

interface UnderWay {
  readonly work: Work;
  readonly outcome: WorkOutcome;
  readonly endsMs: number;
}

/**
 * Plays one study. Every server has a clock of its own, and what it does is told when its time has
 * come.
 */
export async function playFleet(fleet: VirtualFleet): Promise<FleetOutcome> {
  const { problem, make, seed, speeds, maxTrials = Number.POSITIVE_INFINITY, finalRounds = 0 } = fleet;
  const { testProblem } = problem;
  const { space, levels, topology } = testProblem;
  const goal = toGoal(problem);
  const plan = { ...createPlan(problem, goal, seed), maxTrials, finalRounds };
  const sampler = () => make(space, { seed, goal, levels, topology, testProblem });
  const servers = new Map(
    speeds.map((speed, index) => {
      const world = new OfflineWorld(testProblem, { seed: 1000 * seed + index, statistics: true, speed: () => speed });
      const parts = { adapter: world.adapter, sampler: sampler(), journal: nowhere, clock: world.clock };
      const runner = new WorkRunner(`s${index}`, plan, { ...parts, estimateSpeeds: steadySpeeds }, () => undefined);
      return [`s${index}` as string, { world, runner }] as const;
    }),
  );
  const clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'));
  const records: StudyRecord[] = [];
  const journal = { append: async (record: StudyRecord) => void records.push(record) };
  const build = (servers.get('s0') as { world: OfflineWorld }).world.adapter.build;
  const conductor = new Conductor(plan, { sampler: sampler(), journal, clock, build });
  await conductor.open();
  const signal = new AbortController().signal;
  let running: UnderWay[] = [];
  let outcomes: WorkOutcome[] = [];
  let nowMs = 0;
  let [searchMs, busyMs, stoodStill] = [0, 0, 0];
  for (;;) {
    const idle = [...servers.keys()].filter((name) => !running.some(({ work }) => work.server === name));
    const told = fleet.report?.(conductor.state.trials.length - 1) ?? {};
    const report = { outcomes, running: running.map((each) => each.work), idle, ...told };
    const { work, end } = await conductor.advance(report);
    if (end) {
      const { state } = conductor;
      const seconds = nowMs / MS_PER_S;
      const busy = busyMs / (searchMs * speeds.length);
      return {
        state,
        records,
        end,
        searchSeconds: searchMs / MS_PER_S,
        seconds,
        busy,
        share: computeShare(state, problem, speeds),
      };
    }
    for (const each of work) {
      const { world, runner } = servers.get(each.server) as { world: OfflineWorld; runner: WorkRunner };
      world.clock.advance(nowMs - world.clock.nowNs() / NS_PER_MS);
      const outcome = await runner.run(each, signal);
      const endsMs = world.clock.nowNs() / NS_PER_MS;
      if (each.kind !== 'final') busyMs += endsMs - nowMs;
      running.push({ work: each, outcome: fleet.disturb?.(outcome) ?? outcome, endsMs });
    }
    if (running.length === 0) {
      if (++stoodStill > MAX_STANDSTILLS) throw new Error('the study stands still');
      outcomes = [];
      clock.advance(STANDSTILL_MS);
      continue;
    }
    const endsMs = Math.min(...running.map((each) => each.endsMs));
    const ended = running.filter((each) => each.endsMs === endsMs);
    running = running.filter((each) => each.endsMs !== endsMs);
    clock.advance(endsMs - nowMs);
    nowMs = endsMs;
    if (ended.some(({ work: { kind } }) => kind !== 'final')) searchMs = nowMs;
    outcomes = ended.map(({ outcome }) => outcome);
  }
}

/** So often nothing may be under way, each time for so long: a person has paused the study. */
const MAX_STANDSTILLS = 10;
const STANDSTILL_MS = 60_000;

const nowhere = { append: async () => undefined };

/** Judged by the truth at the speed of the first server. */
function computeShare(state: StudyState, problem: BudgetedProblem, [speed = 1]: readonly number[]): number {
  const stands = state.best && representative(state, state.best);
  if (!state.best || !stands?.feasible || speed !== 1) return 0;
  return computeWorth(problem.testProblem.truth(state.best.candidate, stands.measurement.level.value), problem);
}
