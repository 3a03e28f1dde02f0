import type { ArrivalPlan } from './arrival-plan.ts';
import type { RobustRule } from './robust-rule.ts';
import type { ClassLimits } from './workload.ts';

/** One of the workloads of a study. */
export interface StudyWorkload {
  readonly name: string;
  /** Its weight relative to the others, above 0. */
  readonly weight: number;
  /**
   * Its mean requests per second relative to the first workload, which is the level of the study; 1
   * for the first.
   */
  readonly perLevel: number;
  /** Returns the arrivals at this mean number of requests per second; the same every time. */
  planAt(perSecond: number): ArrivalPlan;
  /**
   * Latency limit of a good request by class, from its due time, in nanoseconds. A class that is
   * missing has no limit. Absent: no class has one.
   */
  readonly limitsNs?: ReadonlyMap<string, number>;
  /**
   * Limits of a language model's good replies by class. A missing class has the limits of the
   * study.
   */
  readonly limits?: ReadonlyMap<string, ClassLimits>;
  /** The model of each class, if it is not the study's own. */
  readonly models?: ReadonlyMap<string, string>;
}

/** The workloads of a study, and how to combine their figures. */
export interface StudyWorkloads {
  readonly rule: RobustRule;
  readonly workloads: readonly [StudyWorkload, ...StudyWorkload[]];
}

/** True if every workload has a class with a limit, so that goodput is known under all of them. */
export const hasLimits = ({ workloads }: StudyWorkloads): boolean =>
  workloads.every(({ limitsNs }) => limitsNs !== undefined);
