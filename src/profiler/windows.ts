import { msToNs, NS_PER_S, nsToMs } from '../base/units.ts';
import type { Batch } from '../loadgen/recorder.ts';
import { rateInterval, shareInterval } from '../stats/batch-means.ts';
import { LatencyHistogram } from '../stats/histogram.ts';
import type { Interval } from '../stats/interval.ts';
import { isPrecise } from '../stats/precision.ts';
import { quantileInterval } from '../stats/quantile-interval.ts';
import { defaultPrecision, type LevelOptions, type WindowRule } from './level-options.ts';
import type { Traffic } from './traffic.ts';
import type { Warmth } from './warm-up.ts';

/** A window is cut into so many batches, whose spread tells how sure the figures are. */
const BATCHES_PER_WINDOW = 5;
/** A window holds so many latencies one after the other: shorter, neighbouring windows would share their requests. */
const LATENCIES_PER_WINDOW = 20;
/** All windows together may take so many times their planned length; then a stalled server has the last word. */
const PATIENCE = 3;
/** Fewer windows than this do not say that a budget is missed. */
const LEAST_WINDOWS_TO_MISS = 2;

type Ending = 'stable' | 'met' | 'missed' | 'failing' | 'errors' | 'limit';

/** What the counted windows gave. */
export interface WindowedFigures {
  readonly windows: number;
  readonly durationNs: number;
  readonly succeeded: number;
  readonly failed: number;
  /** Of the successful requests, from their sending. */
  readonly latencies: LatencyHistogram;
  /** The same from the time they were due; null in a closed loop. */
  readonly fromDue: LatencyHistogram | null;
  /** Successful requests per second. */
  readonly rate: Interval;
  /** From the time due where there is one. */
  readonly percentileMs: Interval;
}

/**
 * Counts windows until the rate and the percentile are precise, or the budget's verdict is clear, or nothing succeeds, or
 * too much fails, or the limit is reached. `onWindow` is called after each.
 */
export async function measureWindows(
  traffic: Traffic,
  options: LevelOptions,
  rule: WindowRule,
  warmth: Warmth,
  onWindow: (figures: WindowedFigures) => void,
): Promise<WindowedFigures & { readonly ending: Ending }> {
  const batches: Batch[] = [];
  const dueAtEnds: number[] = [];
  const latencies = new LatencyHistogram();
  const fromDue = new LatencyHistogram();
  const windowNs = windowLengthNs(warmth, rule);
  const deadlineNs = options.clock.nowNs() + PATIENCE * rule.maxWindows * windowNs;
  traffic.record({ lengthNs: windowNs / BATCHES_PER_WINDOW, minRequests: 1 }, (batch) => {
    batches.push(batch);
    if (traffic.due !== null) dueAtEnds.push(traffic.due);
    latencies.merge(batch.latencies);
    if (batch.fromDue) fromDue.merge(batch.fromDue);
  });
  let preciseBefore = false;
  for (let window = 1; ; window++) {
    const full = (): boolean => batches.length >= window * BATCHES_PER_WINDOW;
    await traffic.waitUntil(full, deadlineNs - options.clock.nowNs());
    const rate = dueAtEnds.length > 1 ? pacedRate(batches, dueAtEnds, options.level.value) : rateOf(batches);
    const figures = figuresOf(batches, { latencies, fromDue }, options.percentile, window, rate);
    const ending = traffic.tooManyErrors
      ? 'errors'
      : full()
        ? endingAt(figures, preciseBefore, options, rule)
        : 'limit';
    preciseBefore = isStable(figures, options);
    onWindow(figures);
    if (ending !== null) {
      traffic.stopRecording();
      return { ...figures, ending };
    }
  }
}

/** Long enough for `minRequests` and for 20 latencies, within the rule's bounds. */
function windowLengthNs(warmth: Warmth, rule: WindowRule): number {
  const forRequestsNs = warmth.requestsPerSecond > 0 ? (rule.minRequests / warmth.requestsPerSecond) * NS_PER_S : 0;
  const wantedNs = Math.max(forRequestsNs, LATENCIES_PER_WINDOW * warmth.meanLatencyNs);
  return Math.min(Math.max(wantedNs, msToNs(rule.minWindowMs)), msToNs(rule.maxWindowMs));
}

function figuresOf(
  batches: readonly Batch[],
  { latencies, fromDue }: { readonly latencies: LatencyHistogram; readonly fromDue: LatencyHistogram },
  percentile: number,
  windows: number,
  rate: Interval,
): WindowedFigures {
  const scheduled = fromDue.count > 0;
  const histograms = batches.map((batch) => batch.fromDue ?? batch.latencies);
  const inMs = (interval: Interval): Interval => ({
    value: nsToMs(interval.value),
    low: nsToMs(interval.low),
    high: nsToMs(interval.high),
  });
  return {
    windows,
    durationNs: (batches.at(-1)?.endNs ?? 0) - (batches[0]?.startNs ?? 0),
    succeeded: latencies.count,
    failed: batches.reduce((total, batch) => total + batch.failed, 0),
    latencies,
    fromDue: scheduled ? fromDue : null,
    rate: writable(rate),
    percentileMs: inMs(quantileInterval(histograms, scheduled ? fromDue : latencies, percentile / 100)),
  };
}

const rateOf = (batches: readonly Batch[]): Interval =>
  rateInterval(
    batches.map((batch) => batch.succeeded),
    batches.map((batch) => (batch.endNs - batch.startNs) / NS_PER_S),
  );

/**
 * In an open loop: the share of what was due that was served, times the rate asked for. Random arrivals vary from batch to
 * batch, and that is no property of the server. What was due in the first batch is not known. A share above one is a
 * backlog from before, and cannot last.
 */
function pacedRate(batches: readonly Batch[], dueAtEnds: readonly number[], perSecond: number): Interval {
  const share = shareInterval(
    batches.slice(1).map((batch) => batch.succeeded),
    dueAtEnds.slice(1).map((due, index) => due - (dueAtEnds[index] as number)),
  );
  const atMostAll = (part: number): number => Math.min(part, 1) * perSecond;
  return { value: atMostAll(share.value), low: atMostAll(share.low), high: atMostAll(share.high) };
}

/** One batch alone bounds nothing, but a journal cannot hold Infinity: ±100 % says as much. */
const writable = (interval: Interval): Interval =>
  Number.isFinite(interval.high) ? interval : { value: interval.value, low: 0, high: 2 * interval.value };

/** Without a budget nothing is decided by the percentile, and its tail would keep every measurement going to the limit. */
function isStable(figures: WindowedFigures, options: LevelOptions): boolean {
  const precision = options.precision ?? defaultPrecision;
  const tailMatters = options.budgetMs !== undefined;
  return isPrecise(figures.rate, precision) && (!tailMatters || isPrecise(figures.percentileMs, precision));
}

/** Precision must hold at two windows in a row: an interval is at times too narrow by chance, seldom twice. */
function endingAt(
  figures: WindowedFigures,
  preciseBefore: boolean,
  options: LevelOptions,
  rule: WindowRule,
): Ending | null {
  if (figures.succeeded === 0) return 'failing';
  const precision = options.precision ?? defaultPrecision;
  const { rate, percentileMs, windows } = figures;
  const { budgetMs } = options;
  if (budgetMs !== undefined && windows >= LEAST_WINDOWS_TO_MISS && percentileMs.low > budgetMs * (1 + precision)) {
    return 'missed';
  }
  if (windows >= rule.minWindows) {
    if (preciseBefore && isStable(figures, options)) return 'stable';
    const clearlyMet = budgetMs !== undefined && percentileMs.high < budgetMs * (1 - precision);
    if (clearlyMet && isPrecise(rate, precision)) return 'met';
  }
  return windows >= rule.maxWindows ? 'limit' : null;
}
