import type { LoadLevel } from '#loadgen/types.ts';
import type { LevelOptions } from '#profiler/level-options.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { measureWorkloads } from '#profiler/workloads/measure-workloads.ts';
import type { RequestLimits } from '#queueing/continuous/request-limits.ts';
import type { MeasureOptions } from '#tuner/adapter.ts';
import type { ArrivalPlan } from '#workload/arrival-plan.ts';
import type { RobustRule } from '#workload/robust-rule.ts';

/** A workload to play on the candidates of a study. */
export interface ProfiledWorkload {
  readonly name: string;
  readonly weight: number;
  /** Its mean requests per second relative to the level of the study. */
  readonly perLevel: number;
  /** Returns the arrivals of a pass at a mean rate. */
  readonly planAt: (perSecond: number) => ArrivalPlan;
  /** Limits of a good request if its class has none. */
  readonly limits?: RequestLimits | undefined;
}

/** The workloads under which a level is measured in turn. */
export interface ProfiledWorkloads<W extends ProfiledWorkload> {
  readonly rule: RobustRule;
  readonly search: readonly W[];
  /** For measurements without a purpose, whose figures are reported. */
  readonly final: readonly W[];
}

/**
 * Measures a level under each workload in turn, or once without workloads. `measure` gets the level
 * and the callbacks of its turn, and whether the candidate may still be cold. Errors: its own.
 */
export function measureUnder<W extends ProfiledWorkload>(
  workloads: ProfiledWorkloads<W> | undefined,
  level: LoadLevel,
  isFresh: boolean,
  options: MeasureOptions,
  measure: (workload: W | null, level: LoadLevel, isFresh: boolean, options: MeasureOptions) => Promise<Measurement>,
): Promise<Measurement> {
  if (!workloads) return measure(null, level, isFresh, options);
  const played = options.purpose === undefined ? workloads.final : workloads.search;
  return measureWorkloads(workloads.rule, level, played, (place, turn) => {
    const workload = played[place] as W;
    const onProgress: MeasureOptions['onProgress'] = (progress) =>
      options.onProgress(played.length > 1 ? { ...progress, workload: workload.name } : progress);
    return measure(workload, turn, isFresh && place === 0, { ...options, onProgress });
  });
}

/** Returns the options of a level that a workload decides on. */
export const playing = ({ planAt, limits }: ProfiledWorkload): Pick<LevelOptions, 'scheduleAt' | 'limits'> => ({
  scheduleAt: (perSecond) => ({ kind: 'arrivals', plan: planAt(perSecond) }),
  ...(limits && { limits }),
});
