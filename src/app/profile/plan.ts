import { TrituneError } from '#base/errors.ts';
import type { MeasuringSettings, ProfileSettings } from '#headless/perf-analyzer/settings.ts';
import { defaultPerfAnalyzerRule, type PerfAnalyzerRule, type StabilityRule } from '#profiler/level-options.ts';
import type { SweepPlan, SweepRange } from '#profiler/sweep.ts';
import type { GoodputLimits, ProfileSpec } from '#spec/profile-spec.ts';
import { readWorkload } from '#workload/read-workload.ts';
import { checkEndOnly } from '../traffic/limits.ts';
import { readTimedRequests, type TimedRequests } from '../traffic/schedule.ts';
import { type PlayedWorkload, played } from '../traffic/workload.ts';

const PERCENTILES = [50, 90, 95, 99] as const;

/** A checked plan of a profile. */
export interface ProfilePlan {
  readonly mode: 'concurrency' | 'request-rate';
  readonly sweep: SweepPlan;
  /** The times at which requests are due; null for a constant rate. */
  readonly timed: TimedRequests | null;
  /** The workload, if any. */
  readonly workload: PlayedWorkload | null;
  readonly rule: StabilityRule;
  /**
   * Half-width of the 95 % intervals at which a level ends, as a share; for the rule `interval`.
   */
  readonly precision: number;
  /** null for the average. */
  readonly percentile: number | null;
  /** The reported percentiles, ascending. */
  readonly percentiles: readonly number[];
  /** 0 for none. */
  readonly latencyLimitMs: number;
}

/**
 * Errors: USAGE, INPUT_INVALID. `alike`: act as the drop-in, which uses perf_analyzer's rule by
 * default. `recorded`: when recorded requests are due; used if the user asks for no load.
 */
export async function planProfile(
  spec: ProfileSpec,
  alike: boolean,
  recorded: TimedRequests | null = null,
): Promise<ProfilePlan> {
  const asksForLoad = checkOneLoad(spec);
  checkScenario(spec);
  const workload = await readPlayedWorkload(spec);
  const timed = (await readTimedRequests(spec)) ?? (asksForLoad || workload ? null : recorded);
  const mode = timed || workload || spec.requestRateRange ? 'request-rate' : 'concurrency';
  const schedule = timed ?? workload;
  const range = spec.requestRateRange ?? (schedule ? only(schedule.perSecond) : (spec.concurrencyRange ?? only(1)));
  const sweep: SweepPlan = {
    range,
    order: spec.binarySearch ? 'binary' : 'linear',
    wholeLevels: mode === 'concurrency',
  };
  checkSweep(sweep, spec);
  const percentile = spec.percentile === undefined || spec.percentile < 0 ? null : spec.percentile;
  return {
    mode,
    sweep,
    timed,
    workload,
    rule: workload ? toPassesRule(spec) : toRule(spec, { timed, range, percentile }, alike),
    precision: spec.precision / 100,
    percentile,
    percentiles: [...new Set([...PERCENTILES, ...(percentile === null ? [] : [percentile])])].sort((a, b) => a - b),
    latencyLimitMs: spec.latencyThreshold,
  };
}

/** Errors: USAGE for limits on tokens where replies have none. */
export function checkLimits({ goodput }: GoodputLimits, { workload }: Pick<ProfilePlan, 'workload'>): void {
  checkEndOnly(goodput, '--goodput');
  for (const { name, limits } of workload?.workload.classes ?? []) checkEndOnly(limits, `class '${name}'`);
}

/** Errors: those of reading it; USAGE for workload options without a workload. */
async function readPlayedWorkload({ workload, seed, timeScale, passes }: ProfileSpec): Promise<PlayedWorkload | null> {
  if (workload !== undefined) return played(await readWorkload(workload), { seed, timeScale });
  if (timeScale !== undefined) throw usage('--time-scale needs a workload', 'add --workload FILE');
  if (passes !== undefined) throw usage('--passes needs a workload', 'add --workload FILE');
  return null;
}

function toPassesRule(spec: ProfileSpec): StabilityRule {
  const isOther = spec.requestCount !== undefined || spec.stability === 'perf-analyzer';
  if (isOther || Object.keys(statedRule(spec)).length > 0) {
    throw usage('a workload is measured over whole passes', 'leave out the other rules, and give --passes N');
  }
  return { kind: 'passes', passes: spec.passes };
}

const only = (value: number): SweepRange => ({ start: value, end: value, step: 1 });

/** Returns the first lines of the output. */
export function toSettings(
  { mode, sweep, timed, workload, rule, percentile, latencyLimitMs }: ProfilePlan,
  spec: ProfileSpec,
  { serviceKind, isDecoupled }: Pick<ProfileSettings, 'serviceKind' | 'isDecoupled'>,
): ProfileSettings {
  return {
    batch: spec.batch,
    serviceKind,
    protocol: spec.protocol,
    mode,
    endLevel: sweep.range.end,
    binarySearch: sweep.order === 'binary',
    distribution: mode === 'request-rate' && !timed && !workload ? spec.requestDistribution : null,
    latencyLimitMs,
    warmupRequests: spec.warmupRequestCount ?? null,
    isAsync: spec.async === true || spec.streaming === true,
    isDecoupled,
    measuring: toMeasuringSettings(rule, spec.precision),
    percentile,
  };
}

function toMeasuringSettings(rule: StabilityRule, precisionPercent: number): MeasuringSettings {
  if (rule.kind === 'interval') return { kind: 'interval', precisionPercent };
  if (rule.kind === 'request-count') return { kind: 'request-count', requests: rule.requests };
  if (rule.kind === 'passes') return { kind: 'passes', passes: rule.passes ?? null };
  const { mode, maxTrials, windowMs, requestCount } = rule;
  return mode === 'count_windows'
    ? { kind: 'count-windows', requests: requestCount, maxTrials }
    : { kind: 'time-windows', windowMs, maxTrials };
}

const loads = {
  concurrencyRange: '--concurrency-range',
  requestRateRange: '--request-rate-range',
  requestIntervals: '--request-intervals',
  arrivalTrace: '--arrival-trace',
  fixedSchedule: '--fixed-schedule',
  ramp: '--ramp',
  periodicBurst: '--periodic-burst',
  scenario: '--scenario',
} as const;

/** True if the user asks for a load. */
function checkOneLoad(spec: ProfileSpec): boolean {
  const loadOptions = (Object.keys(loads) as (keyof typeof loads)[]).filter((key) => spec[key] !== undefined);
  // With a workload, a rate is the one at which it is played.
  const other = spec.workload === undefined ? undefined : loadOptions.find((key) => key !== 'requestRateRange');
  if (other) throw usage(`${loads[other]} cannot be used with --workload`, 'leave one of them out');
  if (loadOptions.length > 1)
    throw usage(`${loadOptions.map((key) => loads[key]).join(' and ')} cannot be used together`, 'give one of them');
  return loadOptions.length === 1;
}

/** A table's levels without the table would change nothing. */
function checkScenario({ scenario, batchSizes, concurrencies, plots }: ProfileSpec): void {
  if (batchSizes !== undefined && scenario !== 'offline')
    throw usage('--batch-sizes needs --scenario offline', 'add it, or give -b N for requests of one size');
  if (concurrencies !== undefined && scenario !== 'online')
    throw usage('--concurrencies needs --scenario online', 'add it, or give --concurrency-range START:END:STEP');
  if (plots !== undefined && scenario !== undefined)
    throw usage('--plots cannot be used with --scenario, which draws its own', 'leave it out, and give -o DIRECTORY');
}

function checkSweep({ range, order }: SweepPlan, { latencyThreshold, requestCount }: ProfileSpec): void {
  if (range.end === 0 && latencyThreshold === 0) {
    throw usage(
      'a range with an end of 0 needs a latency to stop at',
      'add --latency-threshold MS, or give the range an end',
    );
  }
  if (order === 'binary' && (range.end === 0 || latencyThreshold === 0)) {
    throw usage(
      '--binary-search needs a range with an end and a latency threshold',
      'give for example --concurrency-range 1:64 --latency-threshold 20',
    );
  }
  if (requestCount && range.end !== range.start) {
    throw usage('--request-count works with a single load level only', 'give one level, or leave out --request-count');
  }
}

interface PlannedLevels {
  readonly timed: TimedRequests | null;
  readonly range: SweepRange;
  readonly percentile: number | null;
}

function toRule(spec: ProfileSpec, { timed, range, percentile }: PlannedLevels, alike: boolean): StabilityRule {
  if (timed?.requests != null) {
    if (spec.requestCount)
      throw usage('the schedule already determines the number of requests', 'leave out --request-count');
    return { kind: 'request-count', requests: timed.requests };
  }
  if (spec.requestCount) {
    if (spec.requestCount < range.start) {
      throw usage(
        '--request-count is smaller than the concurrency',
        'give at least as many requests as the concurrency',
      );
    }
    return { kind: 'request-count', requests: spec.requestCount };
  }
  const rule = statedRule(spec);
  const stability = spec.stability ?? (alike || Object.keys(rule).length > 0 ? 'perf-analyzer' : 'interval');
  if (stability === 'interval') return { kind: 'interval' };
  return {
    ...defaultPerfAnalyzerRule,
    ...rule,
    ...(percentile !== null && { percentile }),
    latencyThresholdMs: spec.latencyThreshold,
  };
}

/** The user's settings of perf_analyzer's rule. */
function statedRule(spec: ProfileSpec): Partial<PerfAnalyzerRule> {
  const rule = {
    mode: spec.measurementMode,
    windowMs: spec.measurementInterval,
    requestCount: spec.measurementRequestCount,
    stabilityPercent: spec.stabilityPercentage,
    maxTrials: spec.maxTrials,
  };
  return Object.fromEntries(Object.entries(rule).filter(([, value]) => value !== undefined));
}

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
