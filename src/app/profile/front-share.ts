import { watchTogether } from '../../loadgen/client/cost.ts';
import type { LoadLevel } from '../../loadgen/types.ts';
import type { LevelOptions } from '../../profiler/level-options.ts';
import { measureLevel } from '../../profiler/measure-level.ts';
import { measureMix } from '../../profiler/measure-mix.ts';
import type { Measurement } from '../../profiler/measurement.ts';
import { hasClasses, limitsOf, type WorkloadFront } from '../traffic/workload.ts';
import type { ProfilePlan } from './plan.ts';
import type { GoodputLimits } from './profile-spec.ts';

/** The options that all fronts share. */
type Common = Omit<LevelOptions, keyof OfFront>;

/** The options of one model's sender. */
type OfFront = Pick<LevelOptions, 'transport' | 'requests' | 'stats'>;

/** One model, its requests, and its part of the workload, if any. */
type MeasuredFront = OfFront &
  Partial<Omit<LevelOptions, keyof OfFront>> &
  Required<Pick<LevelOptions, 'watchClient'>> & { readonly part?: WorkloadFront | undefined };

/**
 * Measures one model at a level, by the schedule in `common`, or several at the same time, each with its part of the plan's workload. Errors: as
 * `measureLevel`.
 */
export function measureFronts(
  common: Common,
  fronts: readonly MeasuredFront[],
  { workload }: Pick<ProfilePlan, 'workload'>,
): Promise<Measurement> {
  const shared = fronts.length > 1 ? workload : null;
  const sent = fronts.flatMap(({ part, ...front }) => {
    const share = shareAt(part, common.level, shared);
    return share === null ? [] : [{ ...common, ...front, ...share }];
  });
  const [only] = sent as [LevelOptions];
  if (sent.length === 1) return measureLevel({ ...only, level: common.level });
  const watches = fronts.map(({ watchClient }) => watchClient);
  return measureMix({ ...common, watchClient: () => watchTogether(watches.map((watch) => watch())) }, sent);
}

/** Returns a front's part of a level; null if the rate is too low for any of its requests to be due. */
function shareAt(
  part: WorkloadFront | undefined,
  level: LoadLevel,
  workload: ProfilePlan['workload'],
): Pick<LevelOptions, 'level' | 'scheduleAt'> | null {
  if (!part || !workload) return { level };
  const own = part.partAt(level.value);
  const requests = own.arrivalsNs.length;
  if (requests === 0) return null;
  const share = requests / workload.planAt(level.value).arrivalsNs.length;
  return { level: { ...level, value: level.value * share }, scheduleAt: () => ({ kind: 'arrivals', plan: own }) };
}

/** Returns the limits for requests whose class has none. */
export function limitsOfAll(
  { goodput }: GoodputLimits,
  { workload }: Pick<ProfilePlan, 'workload'>,
): Pick<LevelOptions, 'limits'> {
  const [only] = workload && !hasClasses(workload.workload) ? workload.workload.classes : [];
  const limits = (only && limitsOf(only)) ?? goodput;
  return limits ? { limits } : {};
}
