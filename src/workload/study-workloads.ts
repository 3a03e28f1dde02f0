import type { ArrivalPlan } from './arrival-plan.ts';
import type { RobustRule } from './robust-rule.ts';
import type { ClassLimits } from './workload.ts';

/** One of the workloads that a study is for. */
export interface StudyWorkload {
  readonly name: string;
  /** How much it counts among the others, above 0. */
  readonly weight: number;
  /** Its mean requests per second over those of the first workload, which is the level of the study; 1 for the first. */
  readonly perLevel: number;
  /** What arrives at this mean number of requests per second; the same every time. */
  planAt(perSecond: number): ArrivalPlan;
  /** By class: from when it is due, what a good request keeps, in nanoseconds. A class that is not in it has no limit. Absent: nothing has one. */
  readonly limitsNs?: ReadonlyMap<string, number>;
  /** By class, all that a good reply of a language model keeps. A class that is not in it keeps what the study asks of all. */
  readonly limits?: ReadonlyMap<string, ClassLimits>;
  /** By class, the model that its requests are for, where that is not the study's own. */
  readonly models?: ReadonlyMap<string, string>;
}

/** The workloads of a study, and how figures under them become one. */
export interface StudyWorkloads {
  readonly rule: RobustRule;
  readonly workloads: readonly [StudyWorkload, ...StudyWorkload[]];
}

/** Tells whether some class of each workload has a limit, so that goodput is known under all of them. */
export const hasLimits = ({ workloads }: StudyWorkloads): boolean =>
  workloads.every(({ limitsNs }) => limitsNs !== undefined);
