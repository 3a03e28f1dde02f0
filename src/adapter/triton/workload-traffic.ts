import type { LoadLevel, RequestSet } from '../../loadgen/types.ts';
import type { LevelOptions } from '../../profiler/level-options.ts';
import type { RequestLimits } from '../../queueing/continuous/request-limits.ts';
import type { Candidate } from '../../space/types.ts';
import type { ArrivalPlan } from '../../workload/arrival-plan.ts';
import type { RobustRule } from '../../workload/robust-rule.ts';

/** The traffic of one of a study's fronts under a workload. */
export interface WorkloadFrontTraffic {
  readonly requestsFor: (candidate: Candidate, batch?: number) => RequestSet;
  /** Its part of the arrivals at a mean rate of the whole workload. */
  readonly partAt: (perSecond: number) => ArrivalPlan;
  /** Limits of good requests without classes. */
  readonly limits?: RequestLimits | undefined;
}

/** A workload to play; its fronts are in the study's order. */
export interface ProfiledWorkload {
  readonly name: string;
  readonly weight: number;
  /** Its mean requests per second relative to the level of the study. */
  readonly perLevel: number;
  readonly fronts: readonly WorkloadFrontTraffic[];
}

/** The workloads under which a level is measured in turn. */
export interface ProfiledWorkloads {
  readonly rule: RobustRule;
  readonly search: readonly ProfiledWorkload[];
  /** For measurements without a purpose, whose figures are reported. */
  readonly final: readonly ProfiledWorkload[];
}

/** Returns the part of a level that a front plays: its requests' share of the rate, at the times of the plan. */
export function partOfLevel(
  { fronts }: ProfiledWorkload,
  front: WorkloadFrontTraffic,
  level: LoadLevel,
): Required<Pick<LevelOptions, 'level' | 'scheduleAt'>> {
  const plan = front.partAt(level.value);
  const all = fronts.reduce((sum, each) => sum + each.partAt(level.value).arrivalsNs.length, 0);
  return {
    level: { ...level, value: (level.value * plan.arrivalsNs.length) / all },
    scheduleAt: () => ({ kind: 'arrivals', plan }),
  };
}
