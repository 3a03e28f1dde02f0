import { realClock } from '#base/clock.ts';
import { MS_PER_S, msToNs, nsToMs } from '#base/units.ts';
import type { BurstShape, CapacityLoads, CourseWindow, PlayedLoad, RateMeasurement } from '#capacity/loads.ts';
import { burstArrivals } from '#capacity/play.ts';
import { defaultOpenLoopRule } from '#loadgen/open-loop.ts';
import { createPacer, type Schedule } from '#loadgen/pacers.ts';
import type { LoadLevel } from '#loadgen/types.ts';
import type { WindowRule } from '#profiler/level-options.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { ProfileProgress, WindowProgress } from '#profiler/progress.ts';
import type { LevelTarget, MeasuringChange } from '../profile/measuring.ts';

/** How loads are played on a target. */
export interface PlayingRule {
  /** null if each request has its own limits. */
  readonly budgetMs: number | null;
  readonly seed: number;
  readonly requestTimeoutSeconds: number;
  /** The window rule for this kind of server. */
  readonly windows: WindowRule;
  /**
   * Returns arrivals at a rate. Each measurement has a seed of its own, so that no two share their
   * luck.
   */
  readonly scheduleAt: (perSecond: number, seed: number) => Schedule;
  /**
   * The mean rate of the workload, and the seconds of its passes in one measurement; null for plain
   * rates.
   */
  readonly workload: { readonly perSecond: number; readonly passSeconds: number } | null;
  readonly distribution: 'constant' | 'poisson';
  readonly onProgress?: (progress: ProfileProgress) => void;
}

/** A closed loop serves only for a first estimate. */
const SCOUTING_PRECISION = 0.1;
const SCOUTING_WINDOWS = { minWindows: 2, maxWindows: 3 } as const;
const SCOUTING_LATENCIES = 10;
/**
 * A window lasts this many budgets for each latency that the window rule requires, which makes 5
 * budgets for tensors. An overload of 5 % for four windows then builds up a backlog of one budget,
 * so that no rate passes just because it was measured too briefly.
 */
const BUDGETS_PER_LATENCY = 0.25;
const MIN_WINDOW_MS = 750;
const MAX_WINDOW_MS = 5000;
const VERDICT_WINDOWS = { minWindows: 4, maxWindows: 4 } as const;
const COUNTED_WINDOWS = { minWindows: 8, maxWindows: 8 } as const;
const ANSWER_WINDOWS = { minWindows: 12, maxWindows: 16 } as const;
/**
 * The maximum of requests in flight during the search for a verdict, in budgets of the rate.
 * Requests queued behind more are far over the budget.
 */
const IN_FLIGHT_BUDGETS = 4;
const MIN_IN_FLIGHT = 256;
/**
 * The number of windows of a load that runs to its end, their minimum length in milliseconds, and
 * the least requests of one.
 */
const COURSE_WINDOWS = 20;
const MIN_COURSE_MS = 250;
const MIN_COURSE_REQUESTS = 5;
/** The largest part of the time left that a load may warm up for. */
const WARM_UP_SHARE = 0.25;
/** Requests that warm up before a burst. */
const BURST_WARM_UP = 50;

/** Called while a load is played. */
interface CourseListener {
  readonly onWindow: (progress: WindowProgress) => void;
  /** The load is played again from its start. */
  readonly onAgain: () => void;
}

const noCourse: CourseListener = { onWindow: () => undefined, onAgain: () => undefined };

/** Returns the loads that can be played on the target. */
export function loadsOn(target: LevelTarget, rule: PlayingRule): CapacityLoads {
  let seed = rule.seed;
  const measure = async (
    level: LoadLevel,
    { windows, ...change }: MeasuringChange & Pick<Required<MeasuringChange>, 'windows'>,
    untilNs: number | undefined,
    { onWindow, onAgain }: CourseListener = noCourse,
  ): Promise<Measurement> => {
    const loadSeed = seed++;
    const leftMs = untilNs === undefined ? Number.POSITIVE_INFINITY : nsToMs(untilNs - realClock.nowNs());
    const listener = {
      onProgress: (progress: ProfileProgress) => {
        if (progress.phase === 'window') onWindow(progress);
        rule.onProgress?.(progress);
      },
      onRequest: () => undefined,
      onAgain,
    };
    const report = await target.measure(level, listener, {
      scheduleAt: (perSecond) => rule.scheduleAt(perSecond, loadSeed),
      // Requests left over from one load must not affect the next.
      drainMs: rule.requestTimeoutSeconds * MS_PER_S,
      untilNs,
      windows: { ...windows, maxWarmUpMs: Math.min(rule.windows.maxWarmUpMs, Math.max(0, WARM_UP_SHARE * leftMs)) },
      ...(target.hostWorkUs && { hostWorkUs: target.hostWorkUs }),
      ...(rule.budgetMs !== null && { limits: { e2eNs: msToNs(rule.budgetMs) } }),
      ...change,
    });
    return report.measurement;
  };
  const atRate = (value: number): LoadLevel => ({ mode: 'request-rate', value });
  const measureRate = async (
    perSecond: number,
    change: Parameters<typeof measure>[1],
    untilNs?: number,
  ): Promise<RateMeasurement> => {
    const schedule = rule.scheduleAt(perSecond, seed);
    const measurement = await measure(atRate(perSecond), change, untilNs);
    const countedMs = measurement.openLoop?.countedMs;
    if (schedule.kind !== 'poisson' || countedMs === undefined) return measurement;
    return { ...measurement, arrivals: { dueMs: dueMsUntil(countedMs.at(-1)?.to ?? 0, schedule), countedMs } };
  };
  const played = async (
    perSecond: number,
    seconds: number,
    change: MeasuringChange,
    untilNs?: number,
  ): Promise<PlayedLoad> => {
    const course = planCourse(seconds, perSecond);
    const windows: CourseWindow[] = [];
    let endSeconds = 0;
    const onWindow = ({ latest }: WindowProgress): void => {
      endSeconds += latest.durationMs / MS_PER_S;
      windows.push({
        endSeconds,
        perSecond: (latest.requests / Math.max(latest.durationMs, 1)) * MS_PER_S,
        meanMs: latest.latencyAvgMs,
        percentileMs: latest.latencyPercentileMs,
      });
    };
    const onAgain = (): void => {
      windows.length = 0;
      endSeconds = 0;
    };
    const measurement = await measure(
      atRate(perSecond),
      { ...change, windows: { ...rule.windows, ...course } },
      untilNs,
      { onWindow, onAgain },
    );
    return { measurement, windows };
  };
  const minLatencies = Math.min(rule.windows.minLatencies, SCOUTING_LATENCIES);
  const scouting = {
    precision: SCOUTING_PRECISION,
    windows: { ...rule.windows, ...SCOUTING_WINDOWS, minLatencies },
  };
  return {
    scouting:
      rule.workload === null
        ? {
            kind: 'closed-loops',
            measure: (value, untilNs) => measure({ mode: 'concurrency', value }, scouting, untilNs),
          }
        : { kind: 'rate', ...rule.workload },
    atRate: (perSecond, length, untilNs) => {
      const change = {
        windows: { ...verdictWindows(rule), ...(length === 'verdict' ? VERDICT_WINDOWS : COUNTED_WINDOWS) },
        openLoop: { maxInFlight: mostInFlight(perSecond, rule.budgetMs) },
        // A measurement ends early if it misses the budget by far.
        ...(length === 'verdict' && rule.budgetMs !== null && { budgetMs: rule.budgetMs }),
      };
      return measureRate(perSecond, change, untilNs);
    },
    atLength: (perSecond, untilNs) =>
      measureRate(perSecond, { windows: { ...verdictWindows(rule), ...ANSWER_WINDOWS } }, untilNs),
    forSeconds: (perSecond, seconds, untilNs) => played(perSecond, seconds, { precision: 0 }, untilNs),
    burst: (perSecond, shape, afterSeconds) => {
      const seconds = shape.seconds + afterSeconds;
      return played(perSecond, seconds, {
        precision: 0,
        warmUpRequests: BURST_WARM_UP,
        scheduleAt: () => burstSchedule(perSecond, shape, seconds, { seed: seed++, distribution: rule.distribution }),
      });
    },
  };
}

/**
 * Returns when the schedule's requests were due up to a moment after its start, in milliseconds.
 */
function dueMsUntil(endMs: number, schedule: Schedule): Float64Array {
  const pacer = createPacer(schedule);
  const due: number[] = [];
  for (;;) {
    const next = pacer(0, due.length);
    if (next === 'stop' || nsToMs(next.waitNs) > endMs) return Float64Array.from(due);
    due.push(nsToMs(next.waitNs));
  }
}

function verdictWindows({ windows, budgetMs }: PlayingRule): Partial<WindowRule> {
  const least = Math.max(
    windows.minWindowMs,
    MIN_WINDOW_MS,
    BUDGETS_PER_LATENCY * windows.minLatencies * (budgetMs ?? 0),
  );
  return { ...windows, minWindowMs: least, maxWindowMs: Math.max(windows.maxWindowMs, MAX_WINDOW_MS, least) };
}

function mostInFlight(perSecond: number, budgetMs: number | null): number {
  const most = defaultOpenLoopRule.maxInFlight;
  if (budgetMs === null) return most;
  const inFlight = Math.ceil((IN_FLIGHT_BUDGETS * perSecond * budgetMs) / MS_PER_S);
  return Math.min(most, Math.max(MIN_IN_FLIGHT, inFlight));
}

/**
 * Returns windows of equal length with this total duration, fewer at a low rate; none is measured
 * again.
 */
function planCourse(seconds: number, perSecond: number): Partial<WindowRule> {
  const most = Math.max(1, Math.min(COURSE_WINDOWS, Math.floor((perSecond * seconds) / MIN_COURSE_REQUESTS)));
  const windowMs = Math.max(MIN_COURSE_MS, (seconds * MS_PER_S) / most);
  const windows = Math.ceil((seconds * MS_PER_S) / windowMs);
  return {
    minWindowMs: windowMs,
    maxWindowMs: windowMs,
    minWindows: windows,
    maxWindows: windows,
    maxVoidWindows: 0,
  };
}

/**
 * Returns the arrivals of a burst and of the base rate after it. The base rate runs twice as long
 * as needed, in case the last window ends late.
 */
function burstSchedule(
  perSecond: number,
  { factor, seconds }: BurstShape,
  lastsSeconds: number,
  draw: { readonly seed: number; readonly distribution: 'constant' | 'poisson' },
): Schedule {
  const phases = [
    { perSecond: perSecond * factor, seconds },
    { perSecond, seconds: 2 * lastsSeconds },
  ];
  return { kind: 'replay', arrivalsNs: burstArrivals(phases, draw), speed: 1 };
}
