import { realClock } from '#base/clock.ts';
import { TrituneError } from '#base/errors.ts';
import { plainLine } from '#base/format.ts';
import type { ObservedRequest } from '#loadgen/observed-transport.ts';
import type { LoadLevel, OutputTensor } from '#loadgen/types.ts';
import type { LevelOptions } from '#profiler/level-options.ts';
import type { LevelReport } from '#profiler/level-report.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { type PlayedFront, play } from '#profiler/play.ts';
import type { ProfileProgress } from '#profiler/progress.ts';
import { toReport } from '#profiler/report-of.ts';
import type { GoodputLimits, LevelSpec, MeasuringSpec } from '#spec/profile-spec.ts';
import type { ClientSpec } from '#spec/traffic-spec.ts';
import type { Devices } from '../server/devices.ts';
import { rateSchedule } from '../traffic/schedule.ts';
import { findLimits, hasClasses } from '../traffic/workload.ts';
import type { ProfilePlan } from './plan.ts';

/** The percentile whose interval is reported when none is asked for. */
const USUAL_PERCENTILE = 99;

/** Callbacks for events while a level is measured. */
export interface LevelListener {
  onProgress(progress: ProfileProgress): void;
  /** Called with every successful request and its outputs; only for targets that observe. */
  onRequest(observed: ObservedRequest, outputs: readonly OutputTensor[]): void;
  /** Called when the level begins anew, since the server or an agent was lost. */
  onAgain(): void;
}

/** What levels are measured on. */
export interface LevelTarget {
  /** The name in the first lines of the output. */
  readonly serviceKind: 'TRITON' | 'HTTP' | 'OPENAI';
  readonly isDecoupled: boolean;
  /** Messages about what was chosen for the user, one line each. */
  readonly assumptions: readonly string[];
  /**
   * Does this host's fixed piece of work, as `LevelOptions.hostWorkUs`; absent if the server is
   * elsewhere.
   */
  readonly hostWorkUs?: (() => number) | undefined;
  /** `change`: differences from the plan. Errors: INTERRUPTED, SERVER_UNREACHABLE. */
  measure(level: LoadLevel, listener: LevelListener, change?: MeasuringChange): Promise<LevelReport>;
  /** Closes the sockets. */
  close(): Promise<void>;
}

/** Differences from the plan in how a level is measured. */
export type MeasuringChange = Partial<
  Pick<
    LevelOptions,
    | 'precision'
    | 'budgetMs'
    | 'windows'
    | 'scheduleAt'
    | 'warmUpRequests'
    | 'openLoop'
    | 'drainMs'
    | 'hostWorkUs'
    | 'limits'
    | 'untilNs'
  >
>;

/** What a target consists of. */
export interface TargetParts extends Pick<LevelTarget, 'serviceKind' | 'isDecoupled' | 'assumptions'> {
  readonly fronts: readonly PlayedFront[];
  readonly devices: Devices;
  /** The options of this kind of requests, for every level. */
  readonly usual?: MeasuringChange;
  /** Called before each level. */
  readonly onLevel?: (listener: LevelListener) => void;
  /** Refuses a measurement that shows no sound reply at all. Errors: SERVER_*. */
  readonly check?: (measurement: Measurement) => void | Promise<void>;
  /** Returns a better error for a level that failed. */
  readonly explain?: (error: unknown) => Promise<unknown>;
  /** Closes the senders. */
  close(): Promise<void>;
}

/** Returns a target over open senders, measured as options and plan say. */
export function levelTarget(
  { fronts, devices, usual, onLevel, check, explain, close, ...described }: TargetParts,
  spec: LevelSpec & MeasuringSpec & GoodputLimits & ClientSpec,
  plan: ProfilePlan,
  signal: AbortSignal,
): LevelTarget {
  const limits = limitsOfAll(spec, plan);
  return {
    ...described,
    hostWorkUs: devices.hostWorkUs,
    measure: async (level, listener, change) => {
      onLevel?.(listener);
      const common = {
        level,
        signal,
        ...toMeasuringSettings(spec, plan),
        ...limits,
        ...usual,
        onProgress: (progress: ProfileProgress) => listener.onProgress(progress),
        deviceProbe: devices.probe,
        maxErrors: spec.maxErrors,
        ...change,
      };
      const measurement = await play(common, fronts).catch(async (error: unknown) => {
        throw explain ? await explain(error) : error;
      });
      await check?.(measurement);
      return reported(measurement, plan, described.isDecoupled);
    },
    close: async () => {
      await close();
      await devices.close();
    },
  };
}

/** Returns the limits for requests whose class has none. */
function limitsOfAll(
  { goodput }: GoodputLimits,
  { workload }: Pick<ProfilePlan, 'workload'>,
): Pick<LevelOptions, 'limits'> {
  const [only] = workload && !hasClasses(workload.workload) ? workload.workload.classes : [];
  const limits = (only && findLimits(only)) ?? goodput;
  return limits ? { limits } : {};
}

type Measuring = Pick<
  LevelOptions,
  'clock' | 'percentile' | 'percentiles' | 'precision' | 'stability' | 'warmUpRequests' | 'scheduleAt' | 'budgetMs'
>;

/** Returns how a level is measured, for any kind of requests. */
function toMeasuringSettings(spec: LevelSpec & MeasuringSpec, plan: ProfilePlan): Measuring {
  return {
    clock: realClock,
    percentile: plan.percentile ?? USUAL_PERCENTILE,
    percentiles: plan.percentiles,
    precision: plan.precision,
    stability: plan.rule,
    warmUpRequests: spec.warmupRequestCount,
    scheduleAt: (perSecond) =>
      plan.workload
        ? { kind: 'arrivals', plan: plan.workload.planAt(perSecond) }
        : (plan.timed?.schedule ?? rateSchedule(spec, perSecond)),
    ...(plan.latencyLimitMs > 0 && plan.percentile !== null && { budgetMs: plan.latencyLimitMs }),
  };
}

/**
 * Returns the report of a level. Errors: SERVER_FAILED if more requests failed than `maxErrors`.
 */
function reported(measurement: Measurement, plan: ProfilePlan, isDecoupled: boolean): LevelReport {
  if (measurement.tooManyErrors) throw tooManyErrors(measurement);
  return toReport(measurement, { ...plan, isDecoupled });
}

function tooManyErrors({ failures }: Measurement): TrituneError {
  const words = failures.map(({ kind, count, firstMessage }) => `${count} ${kind}: ${plainLine(firstMessage, 120)}`);
  return new TrituneError(
    'SERVER_FAILED',
    `too many requests failed (${words.join('; ')})`,
    'read the log of the server, or raise --max-errors',
  );
}
