import { msToNs } from '#base/units.ts';
import type { Batch } from '#loadgen/recorder.ts';
import type { LevelOptions, PerfAnalyzerRule } from '../level-options.ts';
import type { MeasuredTraffic } from '../traffic.ts';
import type { Warmth } from '../warm-up.ts';
import { WindowLog } from './log.ts';
import type { OnWindow, WindowsOutcome } from './outcome.ts';
import { watchPeriodNs } from './void-windows.ts';

/** Windows that must agree, and that form the measurement. */
const STABLE_WINDOWS = 3;
/** Batches per window; their spread gives the confidence intervals. */
const BATCHES_PER_WINDOW = 5;
/**
 * The minimum length of a count window, in milliseconds: with many requests in flight a shorter one
 * is meaningless. perf_analyzer checks once a second.
 */
const MIN_COUNT_WINDOW_MS = 500;
/** The length of a count window assumed for the deadline, in milliseconds, … */
const PATIENT_COUNT_WINDOW_MS = 60_000;
/** … and the deadline in windows of that length. */
const PATIENCE = 3;

/** One window as the rule sees it. The latency is the rule's percentile, or the mean. */
export interface WindowLevel {
  readonly throughput: number;
  readonly latencyMs: number;
}

/**
 * Returns perf_analyzer's verdict on the windows so far. From three windows on: `stable` if the
 * largest throughput and latency of the last three exceed the smallest by at most the percentage
 * and every window served something; otherwise `over` if one of their latencies has reached the
 * threshold. `unstable` after the last trial; otherwise null, to continue.
 */
export function perfAnalyzerVerdict(
  windows: readonly WindowLevel[],
  { stabilityPercent, latencyThresholdMs = 0, maxTrials }: PerfAnalyzerRule,
): 'stable' | 'over' | 'unstable' | null {
  if (windows.length >= STABLE_WINDOWS) {
    const last = windows.slice(-STABLE_WINDOWS);
    const throughputs = last.map(({ throughput }) => throughput);
    const latencies = last.map(({ latencyMs }) => latencyMs);
    if (areAlike(throughputs, stabilityPercent) && areAlike(latencies, stabilityPercent)) return 'stable';
    if (latencyThresholdMs > 0 && Math.max(...latencies) >= latencyThresholdMs) return 'over';
  }
  return windows.length >= maxTrials ? 'unstable' : null;
}

function areAlike(values: readonly number[], percent: number): boolean {
  const smallest = Math.min(...values);
  return smallest > 0 && Math.max(...values) / smallest <= 1 + percent / 100;
}

/**
 * Measures windows until the rule has a verdict. The last three windows, or all if there are fewer,
 * form the measurement.
 */
export async function measureByPerfAnalyzerRule(
  traffic: MeasuredTraffic,
  options: LevelOptions,
  rule: PerfAnalyzerRule,
  warmth: Warmth,
  onWindow: OnWindow,
): Promise<WindowsOutcome> {
  const { clock, percentile } = options;
  const log = openLog(traffic, options, rule, warmth);
  const longestMs = rule.mode === 'time_windows' ? rule.windowMs : PATIENT_COUNT_WINDOW_MS;
  const deadlineNs = clock.nowNs() + PATIENCE * rule.maxTrials * msToNs(longestMs);
  const levels: WindowLevel[] = [];
  for (;;) {
    const full = (): boolean => log.windows > levels.length;
    await traffic.waitUntil(full, deadlineNs - clock.nowNs());
    const isFull = full();
    if (!isFull) log.closeWindow();
    const figures = log.latest(rule.percentile ?? percentile, levels.length);
    const latencyMs = rule.percentile === undefined ? figures.latencyAvgMs : figures.latencyPercentileMs;
    levels.push({ throughput: figures.throughput, latencyMs });
    onWindow({ phase: 'window', window: levels.length, throughput: figures.throughput, latencyMs, latest: figures });
    const goesOn = isFull && !traffic.tooManyErrors;
    const verdict = goesOn ? perfAnalyzerVerdict(levels, rule) : 'unstable';
    if (verdict === null) continue;
    traffic.stopRecording();
    const first = Math.max(0, levels.length - STABLE_WINDOWS);
    return { ...log.figures(first, levels.length), ...toEnding(verdict, levels, rule) };
  }
}

function openLog(traffic: MeasuredTraffic, options: LevelOptions, rule: PerfAnalyzerRule, warmth: Warmth): WindowLog {
  const watchEveryNs = watchPeriodNs(warmth.meanGapNs ?? warmth.meanLatencyNs);
  if (rule.mode === 'time_windows') {
    const windowNs = msToNs(rule.windowMs);
    const batch = { lengthNs: windowNs / BATCHES_PER_WINDOW, minRequests: 1, watchEveryNs };
    const isWhole = (batches: readonly Batch[]): boolean => lengthNs(batches) >= windowNs;
    return new WindowLog(traffic, options, { rule: batch, isWhole });
  }
  const leastNs = msToNs(MIN_COUNT_WINDOW_MS);
  const minRequests = Math.max(1, Math.floor(rule.requestCount / BATCHES_PER_WINDOW));
  const batch = { lengthNs: leastNs / BATCHES_PER_WINDOW, minRequests, watchEveryNs };
  const isWhole = (batches: readonly Batch[]): boolean =>
    requestsIn(batches) >= rule.requestCount && lengthNs(batches) >= leastNs;
  return new WindowLog(traffic, options, { rule: batch, isWhole });
}

/** A latency over the threshold counts as missed, whether stable or not. */
function toEnding(
  verdict: 'stable' | 'over' | 'unstable',
  levels: readonly WindowLevel[],
  { latencyThresholdMs = 0 }: PerfAnalyzerRule,
): Pick<WindowsOutcome, 'stable' | 'budgetVerdict' | 'coldWindows' | 'voidWindows'> {
  const isOver =
    latencyThresholdMs > 0 && levels.slice(-STABLE_WINDOWS).some((level) => level.latencyMs >= latencyThresholdMs);
  return { stable: verdict === 'stable', budgetVerdict: isOver ? 'missed' : null, coldWindows: 0, voidWindows: 0 };
}

const lengthNs = (batches: readonly Batch[]): number => (batches.at(-1)?.endNs ?? 0) - (batches[0]?.startNs ?? 0);

const requestsIn = (batches: readonly Batch[]): number =>
  batches.reduce((total, { succeeded, failed }) => total + succeeded + failed, 0);
