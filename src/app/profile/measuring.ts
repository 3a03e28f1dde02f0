import { realClock } from '../../base/clock.ts';
import { TrituneError } from '../../base/errors.ts';
import { plainLine } from '../../base/format.ts';
import type { ObservedRequest } from '../../loadgen/observed-transport.ts';
import type { LoadLevel, OutputTensor } from '../../loadgen/types.ts';
import type { LevelOptions } from '../../profiler/level-options.ts';
import type { LevelReport } from '../../profiler/level-report.ts';
import type { Measurement, ProfileProgress } from '../../profiler/measurement.ts';
import { reportOf } from '../../profiler/report-of.ts';
import { rateSchedule } from '../traffic/schedule.ts';
import type { ProfilePlan } from './plan.ts';
import type { LevelSpec, MeasuringSpec } from './profile-spec.ts';

/** The percentile whose interval is reported when none is asked for. */
const USUAL_PERCENTILE = 99;

/** Callbacks for events while a level is measured. */
export interface LevelListener {
  onProgress(progress: ProfileProgress): void;
  /** Called with every successful request and its outputs; only for targets that observe. */
  onRequest(observed: ObservedRequest, outputs: readonly OutputTensor[]): void;
}

/** What levels are measured on. */
export interface LevelTarget {
  /** The name in the first lines of the output. */
  readonly serviceKind: 'TRITON' | 'HTTP' | 'OPENAI';
  readonly isDecoupled: boolean;
  /** Messages about what was chosen for the user, one line each. */
  readonly assumptions: readonly string[];
  /** Does this host's fixed piece of work, as `LevelOptions.hostWorkUs`; absent if the server is elsewhere. */
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

type Measuring = Pick<
  LevelOptions,
  'clock' | 'percentile' | 'percentiles' | 'precision' | 'stability' | 'warmUpRequests' | 'scheduleAt' | 'budgetMs'
>;

/** Returns how a level is measured, for any kind of requests. */
export function measuringOf(spec: LevelSpec & MeasuringSpec, plan: ProfilePlan): Measuring {
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

/** Returns the report of a level. Errors: SERVER_FAILED if more requests failed than `maxErrors`. */
export function reported(measurement: Measurement, plan: ProfilePlan, isDecoupled: boolean): LevelReport {
  if (measurement.tooManyErrors) throw tooManyErrors(measurement);
  return reportOf(measurement, { ...plan, isDecoupled });
}

function tooManyErrors({ failures }: Measurement): TrituneError {
  const words = failures.map(({ kind, count, firstMessage }) => `${count} ${kind}: ${plainLine(firstMessage, 120)}`);
  return new TrituneError(
    'SERVER_FAILED',
    `too many requests failed (${words.join('; ')})`,
    'read the log of the server, or raise --max-errors',
  );
}
