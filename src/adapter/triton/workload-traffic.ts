import type { LoadLevel, RequestSet } from '../../loadgen/types.ts';
import type { LevelOptions } from '../../profiler/level-options.ts';
import type { RequestLimits } from '../../queueing/continuous/request-limits.ts';
import type { Candidate } from '../../space/types.ts';
import type { ArrivalPlan } from '../../workload/arrival-plan.ts';
import type { RobustRule } from '../../workload/robust-rule.ts';

/** What one of a study's fronts is sent under a workload. */
export interface WorkloadFrontTraffic {
  readonly requestsFor: (candidate: Candidate, batch?: number) => RequestSet;
  /** Its part of what arrives at a mean rate of the whole workload. */
  readonly partAt: (perSecond: number) => ArrivalPlan;
  /** What requests keep to be good ones where they have no classes. */
  readonly limits?: RequestLimits | undefined;
}

/** A workload as it is played; its fronts are in the order of the study's. */
export interface ProfiledWorkload {
  readonly name: string;
  readonly weight: number;
  /** Its mean requests per second over the level of the study. */
  readonly perLevel: number;
  readonly fronts: readonly WorkloadFrontTraffic[];
}

/** What a level of a study is measured under, in turn. */
export interface ProfiledWorkloads {
  readonly rule: RobustRule;
  readonly search: readonly ProfiledWorkload[];
  /** For measurements without a purpose, whose figures are reported. */
  readonly final: readonly ProfiledWorkload[];
}

/** Returns what a front plays of a level: its requests' share of the rate, at the times of the plan. */
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
