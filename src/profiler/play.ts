import { watchTogether } from '#loadgen/client/cost.ts';
import type { Schedule } from '#loadgen/pacers.ts';
import type { LoadLevel } from '#loadgen/types.ts';
import { partOfPlan } from '#workload/plan/part-of-plan.ts';
import type { LevelOptions } from './level-options.ts';
import { measureLevel } from './measure-level.ts';
import { type FrontOptions, measureMix } from './measure-mix.ts';
import type { Measurement } from './measurement.ts';

/** What sends requests of one kind to one server, open for many levels. */
export type Sending = Pick<
  LevelOptions,
  'transport' | 'openFlow' | 'watchClient' | 'sequences' | 'alarm' | 'clientCeiling'
>;

/**
 * A model that gets requests: its sender, its requests, and the rest that differs between models
 * that are measured together.
 */
export type PlayedFront = Omit<FrontOptions, 'level'> &
  Pick<LevelOptions, 'watchClient'> & {
    /**
     * Returns its level when all fronts together are measured at `level`; without it, the level is
     * its own.
     */
    readonly levelIn?: ((level: LoadLevel) => LoadLevel) | undefined;
    /**
     * The indexes of its classes in the workload that is played; without them, all requests of the
     * schedule are its own.
     */
    readonly classes?: readonly number[] | undefined;
  };

/** The options that all fronts share. */
export type PlayOptions = Omit<LevelOptions, keyof Sending | 'requests' | 'stats'>;

/**
 * Measures one model at a level, or several at the same time, each at its part of the level. Where
 * a front has classes, its part is cut from the schedule of the options; a front without any
 * request in it is left out. Errors: as `measureLevel`.
 */
export function play(options: PlayOptions, fronts: readonly PlayedFront[]): Promise<Measurement> {
  const { level, scheduleAt } = options;
  const isCut = fronts.length > 1 && fronts.some(({ classes }) => classes !== undefined);
  const schedule = isCut ? scheduleAt?.(level.value) : undefined;
  const played = fronts.flatMap(({ levelIn, classes, ...front }) => {
    const part = schedule && classes ? findPart(schedule, classes, level) : { level: levelIn?.(level) ?? level };
    return part ? [{ ...options, ...front, ...part }] : [];
  });
  const [first, ...others] = played;
  if (first && others.length === 0) return measureLevel({ ...first, level });
  const watches = fronts.flatMap(({ watchClient }) => watchClient ?? []);
  const watchClient = watches.length > 0 && { watchClient: () => watchTogether(watches.map((watch) => watch())) };
  return measureMix({ ...options, ...watchClient }, played);
}

/**
 * Returns the part of a level that some classes of a workload make up; null if the rate is too low
 * for any of their requests to be due.
 */
function findPart(
  schedule: Schedule,
  classes: readonly number[],
  level: LoadLevel,
): Required<Pick<LevelOptions, 'level' | 'scheduleAt'>> | null {
  if (schedule.kind !== 'arrivals') return null;
  const plan = partOfPlan(schedule.plan, classes);
  if (plan.arrivalsNs.length === 0) return null;
  const share = plan.arrivalsNs.length / schedule.plan.arrivalsNs.length;
  return { level: { ...level, value: level.value * share }, scheduleAt: () => ({ ...schedule, plan }) };
}
