import { msToNs } from '#base/units.ts';
import type { Batch } from '#loadgen/recorder.ts';
import type { ArrivalPlan } from '#workload/arrival-plan.ts';
import type { LevelOptions, WindowRule } from '../level-options.ts';
import type { MeasuredTraffic } from '../traffic.ts';
import type { Warmth } from '../warm-up.ts';
import { WindowLog } from './log.ts';
import type { OnWindow, WindowsOutcome } from './outcome.ts';
import { isFarAbove, toProgress } from './signs.ts';
import { hangsOnPauses, isVoid, watchPeriodNs } from './void-windows.ts';

/**
 * By default, passes are played for at least this long. Three windows of the interval rule last as
 * long.
 */
const MIN_MS = 5000;
/** The minimum number of batches in total; their spread gives the confidence intervals. */
const MIN_BATCHES = 20;
/** A server gets faster for up to this long after a load (`settled.ts`). */
const SETTLING_MS = 2500;
/** The measurement ends if the server has been silent for this long at the end of the passes. */
const PATIENCE_MS = 10_000;

/** The ends of batches that several threads made together are accurate to this share of a slice. */
const ROUNDING = 0.01;

/** A plan, and how to count its passes. */
export interface PassesAsked {
  readonly plan: ArrivalPlan;
  /** If absent, enough passes to last at least five seconds. */
  readonly passes: number | undefined;
  readonly warmth: Warmth;
  readonly rule: WindowRule;
}

/** The division of passes into batches. */
export interface PassDivision {
  readonly passes: number;
  /** Equal slices of one pass; each is a batch. */
  readonly slices: number;
}

/** Returns how to divide a plan: into at least 20 batches, none longer than `mostNs`. */
export function passDivision(durationNs: number, mostNs: number, askedPasses?: number): PassDivision {
  const passes = askedPasses ?? Math.max(1, Math.ceil(msToNs(MIN_MS) / durationNs));
  return { passes, slices: Math.max(Math.ceil(MIN_BATCHES / passes), Math.ceil(durationNs / mostNs)) };
}

/**
 * Counts whole passes of the plan that the traffic plays; each is a window. Counting begins
 * anywhere in a pass and ends at the same point of a later one, so that every arrival of the plan
 * counts equally often. A lead-in is played without being counted: after a load for as long as the
 * server may still get faster, and again if a batch size was executed for the first time in a pass.
 * Ends early if nothing succeeds in a pass, too many requests fail, or the budget is missed by far.
 * Passes that the load generator's own pauses have distorted are played again, at most as often as
 * the number of counted passes.
 */
export async function measurePasses(
  traffic: MeasuredTraffic,
  options: LevelOptions,
  { plan: { durationNs }, passes: requestedPasses, warmth, rule }: PassesAsked,
  onWindow: OnWindow,
): Promise<WindowsOutcome> {
  const { clock, isFresh = false } = options;
  const { passes, slices } = passDivision(durationNs, msToNs(rule.maxWindowMs), requestedPasses);
  const sliceNs = durationNs / slices;
  const originNs = clock.nowNs();
  const leadIn = Math.max(1, Math.ceil((isFresh ? msToNs(SETTLING_MS) : 0) / sliceNs));
  // The end of the next window, in slices after the origin; the first is wherever requests complete
  // after the lead-in.
  let ends = leadIn;
  let isLeadIn = true;
  const isWhole = (batches: readonly Batch[]): boolean => {
    const passed = ((batches.at(-1)?.endNs ?? 0) - originNs) / sliceNs + ROUNDING;
    if (passed < ends) return false;
    ends = (isLeadIn ? Math.floor(passed) : ends) + slices;
    isLeadIn = false;
    return true;
  };
  const watchEveryNs = watchPeriodNs(warmth.meanGapNs ?? warmth.meanLatencyNs);
  const batchRule = { lengthNs: sliceNs, minRequests: 1, inStepWithNs: originNs, watchEveryNs };
  const log = new WindowLog(traffic, options, { rule: batchRule, isWhole });
  const until = (windows: number): Promise<void> => {
    const endNs = originNs + (ends + (windows - log.windows - 1) * slices) * sliceNs;
    return traffic.waitUntil(() => log.windows >= windows, Math.max(0, endNs + msToNs(PATIENCE_MS) - clock.nowNs()));
  };
  await until(1);
  log.discard();
  let [coldWindows, voidWindows, counted] = [0, 0, 0];
  const most = Math.min(passes, rule.maxVoidWindows);
  for (;;) {
    await until(counted + 1);
    const isFull = log.windows > counted;
    if (!isFull) log.closeWindow();
    if (isFull && coldWindows === 0 && (await log.isColdSince(counted))) {
      coldWindows = log.discard();
      counted = 0;
      continue;
    }
    counted = log.windows;
    const figures = log.figures();
    onWindow(toProgress(log, figures, options));
    const isMissed = isFull && isFarAbove(figures, options);
    const isCut = !isFull || traffic.tooManyErrors || figures.succeeded === 0 || isMissed;
    if (!isCut && counted < passes) continue;
    const dropped =
      !isCut && hangsOnPauses(figures, options) ? log.drop(most - voidWindows, (pass) => isVoid(pass, options)) : 0;
    if (dropped > 0) {
      voidWindows += dropped;
      counted = log.windows;
      onWindow({ phase: 'void', voidWindows });
      continue;
    }
    log.markEnd();
    traffic.stopRecording();
    const isStable = isFull && counted >= passes;
    return {
      ...log.figures(),
      // Every pass that could be played was played.
      stable: (isStable || isMissed) && figures.succeeded > 0,
      budgetVerdict: isMissed ? 'missed' : null,
      coldWindows,
      voidWindows,
    };
  }
}
