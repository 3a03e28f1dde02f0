import { msToNs, NS_PER_S } from '#base/units.ts';
import type { Batch } from '#loadgen/recorder.ts';
import type { LevelOptions, WindowRule } from '../level-options.ts';
import type { MeasuredTraffic } from '../traffic.ts';
import type { Warmth } from '../warm-up.ts';
import type { WindowedFigures } from './figures.ts';
import { WindowLog } from './log.ts';
import type { OnWindow, WindowsOutcome } from './outcome.ts';
import { measureByPerfAnalyzerRule } from './perf-analyzer-rule.ts';
import { countRequests } from './request-count.ts';
import { settlingAfterLoad } from './settled.ts';
import { computeSigns, isFarAbove, noSigns, type Signs, toProgress } from './signs.ts';
import { hangsOnPauses, isVoid, suspendedNs, watchPeriodNs } from './void-windows.ts';
import { measurePasses } from './whole-passes.ts';

/** Batches per window; their spread gives the confidence intervals. */
const BATCHES_PER_WINDOW = 5;
/**
 * The maximum time of all windows together, in planned lengths; after that a stalled server ends
 * the measurement.
 */
const PATIENCE = 3;
/** Fewer windows than this cannot show that a budget is missed, by whatever margin. */
const MIN_WINDOWS_TO_MISS = 2;
/**
 * The number of windows that are measured again because the process was suspended; after that they
 * count.
 */
const MAX_SUSPENSIONS = 5;
/** The number of times that windows with cold executions are dropped; after that they count. */
const MAX_RESTARTS = 3;

type Ending = 'stable' | 'met' | 'missed' | 'failing' | 'errors' | 'limit';

/**
 * Counts windows until the rule of the options is satisfied. Calls `onWindow` after each one,
 * including void ones.
 */
export function measureWindows(
  traffic: MeasuredTraffic,
  options: LevelOptions,
  rule: WindowRule,
  warmth: Warmth,
  onWindow: OnWindow,
): Promise<WindowsOutcome> {
  const { stability } = options;
  if (stability?.kind === 'perf-analyzer')
    return measureByPerfAnalyzerRule(traffic, options, stability, warmth, onWindow);
  if (stability?.kind === 'request-count') return countRequests(traffic, options, stability, onWindow);
  if (traffic.plan) {
    const passes = stability?.kind === 'passes' ? stability.passes : undefined;
    return measurePasses(traffic, options, { plan: traffic.plan, passes, warmth, rule }, onWindow);
  }
  return measureUntilPrecise(traffic, options, rule, warmth, onWindow);
}

/**
 * Measures until the rate and the percentile are precise, the budget's verdict is clear, nothing
 * succeeds, too many requests fail, or the limit is reached. After a load, drops the earliest
 * windows while rate and tail still improve. If the percentile may then be the client's own,
 * measures the responsible windows again.
 */
async function measureUntilPrecise(
  traffic: MeasuredTraffic,
  options: LevelOptions,
  rule: WindowRule,
  warmth: Warmth,
  onWindow: OnWindow,
): Promise<WindowsOutcome> {
  const windowNs = windowLengthNs(warmth, rule);
  const settling = settlingAfterLoad(options, rule);
  let deadlineNs = options.clock.nowNs() + PATIENCE * rule.maxWindows * windowNs;
  const watchEveryNs = watchPeriodNs(warmth.meanGapNs ?? warmth.meanLatencyNs);
  const batchRule = { lengthNs: windowNs / BATCHES_PER_WINDOW, minRequests: 1, watchEveryNs };
  const isWhole = (batches: readonly Batch[]): boolean => batches.length === BATCHES_PER_WINDOW;
  const log = new WindowLog(traffic, options, { rule: batchRule, isWhole, asksFrom: MIN_WINDOWS_TO_MISS });
  let before = noSigns;
  let [counted, coldWindows, voidWindows, suspensions] = [0, 0, 0, 0];
  const lookAnew = (): void => {
    counted = log.windows;
    before = noSigns;
  };
  for (let restarts = 0; ; ) {
    const full = (): boolean => log.windows > counted;
    await traffic.waitUntil(full, deadlineNs - options.clock.nowNs());
    const isFull = full();
    if (!isFull) log.closeWindow();
    let lostNs = 0;
    const suspended = log.drop(MAX_SUSPENSIONS - suspensions, (window) => {
      lostNs += suspendedNs(window);
      return suspendedNs(window) > 0;
    });
    if (suspended > 0) {
      suspensions += suspended;
      voidWindows += suspended;
      deadlineNs += lostNs + suspended * windowNs;
      lookAnew();
      onWindow({ phase: 'void', voidWindows });
      continue;
    }
    if (isFull && restarts < MAX_RESTARTS && (await log.isColdSince(counted))) {
      restarts++;
      coldWindows += log.discard();
      counted = 0;
      continue;
    }
    counted = log.windows;
    const figures = log.figures();
    const unclear = traffic.tooManyErrors ? 'errors' : isFull ? null : 'limit';
    const ending = unclear ?? endingAt(figures, before, options, rule);
    before = computeSigns(figures, options);
    onWindow(toProgress(log, figures, options));
    const isSeen = isFull && ending !== 'failing' && (ending !== null || counted >= rule.minWindows);
    if (isSeen && !settling.isOver(figures.batches)) {
      log.drop(1, () => true);
      lookAnew();
      deadlineNs += windowNs;
      continue;
    }
    if (ending === null) continue;
    const mayDrop =
      unclear === null && options.clock.nowNs() < deadlineNs ? rule.maxVoidWindows + suspensions - voidWindows : 0;
    const dropped = hangsOnPauses(figures, options) ? log.drop(mayDrop, (window) => isVoid(window, options)) : 0;
    if (dropped > 0) {
      voidWindows += dropped;
      lookAnew();
      onWindow({ phase: 'void', voidWindows });
      continue;
    }
    log.markEnd();
    traffic.stopRecording();
    return {
      ...log.figures(),
      stable: ending === 'stable' || ending === 'met' || ending === 'missed',
      budgetVerdict: ending === 'met' || ending === 'missed' ? ending : null,
      coldWindows,
      voidWindows,
    };
  }
}

/** Returns a length that covers the rule's requests and latencies, within its bounds. */
function windowLengthNs(warmth: Warmth, rule: WindowRule): number {
  const forRequestsNs = warmth.requestsPerSecond > 0 ? (rule.minRequests / warmth.requestsPerSecond) * NS_PER_S : 0;
  const targetNs = Math.max(forRequestsNs, rule.minLatencies * warmth.meanLatencyNs);
  return Math.min(Math.max(targetNs, msToNs(rule.minWindowMs)), msToNs(rule.maxWindowMs));
}

/**
 * Any ending must show in two consecutive windows: an interval is sometimes too narrow by chance,
 * rarely twice, and a check after every window is frequent. Only a budget that is missed by far
 * needs no second check.
 */
function endingAt(figures: WindowedFigures, before: Signs, options: LevelOptions, rule: WindowRule): Ending | null {
  if (figures.succeeded === 0) return 'failing';
  const { windows } = figures;
  const { isStable, isMet, isMissed } = computeSigns(figures, options);
  if (isFarAbove(figures, options) && windows >= MIN_WINDOWS_TO_MISS) return 'missed';
  if (windows >= rule.minWindows) {
    if (isMissed && before.isMissed) return 'missed';
    if (isStable && before.isStable) return 'stable';
    if (isMet && before.isMet) return 'met';
  }
  return windows >= rule.maxWindows ? 'limit' : null;
}
