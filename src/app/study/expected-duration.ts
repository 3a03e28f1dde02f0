import { restWindows, searchWindows } from '#adapter/triton/profile.ts';
import { MS_PER_S } from '#base/units.ts';
import { defaultWindowRule } from '#profiler/level-options.ts';
import type { SamplerKind } from '#study/search/samplers/registry.ts';
import type { SearchLength } from '#study/search/samplers/search-length.ts';

/**
 * Seconds for warm-up, waking the instances and draining requests, and the number of windows per
 * measurement in the search and in the final.
 */
const MEASUREMENT = { besideSeconds: 0.55, searchWindows: 2.8, finalWindows: 3.5 };
/** A window holds about this many latencies in a row, if that is longer than its minimum length. */
const LATENCIES_PER_WINDOW = 20;
/**
 * Default seconds of a full load: for small models on a real Triton, including refused loads and
 * waits for old instances, and for the emulator's profiles.
 */
const USUAL_LOAD_SECONDS = { real: 1.5, emulated: 0.3 };
/**
 * Extra seconds of a candidate's load, because most candidates have more instances than the
 * original.
 */
const MORE_INSTANCES_SECONDS = 0.25;
/** Seconds of a load on a real server that takes configs as they are. */
const FAST_LOAD_SECONDS = 0.1 + MORE_INSTANCES_SECONDS;
/**
 * Seconds to look at the server and write the results, and to start and stop a launched server. An
 * emulated one takes next to nothing.
 */
const AROUND_SECONDS = { remote: 1.5, launched: 5 };

/** What was seen of the model before a study. */
export interface Seen {
  /** Milliseconds of a request alone on the server; null if none was sent. */
  readonly requestMs: number | null;
  /** Seconds that the original config took to load; null if not seen. */
  readonly loadSeconds: number | null;
}

/** Before a request was sent and a load was made. */
export const nothingSeen: Seen = { requestMs: null, loadSeconds: null };

export interface Expected {
  readonly seconds: number;
  /** Seconds if unseen loads are fast; else the same. */
  readonly leastSeconds: number;
  /** Seconds of a study whose final stays within its planned rounds, and the loads in that. */
  readonly even: { readonly seconds: number; readonly loads: number; readonly loadSeconds: number };
  readonly measurements: number;
  /** The maximum number of trials. */
  readonly trials: number;
}

/** What is known before a study. */
export interface Prospect extends Seen {
  readonly sampler: Pick<SamplerKind, 'length' | 'usualTrials'>;
  /** The maximum number of trials; Infinity for an endless space. */
  readonly trials: number;
  /** The number of load levels for each candidate, if they are listed. */
  readonly listedLevels?: number | undefined;
  readonly finalRounds: number;
  /** null without a budget. */
  readonly budgetMs: number | null;
  readonly timeBudgetMs: number;
  readonly isEmulated: boolean;
  /** True if the server is started for the run. */
  readonly isLaunched?: boolean;
  /**
   * Seconds of a level with the study's workloads, which are measured over whole passes; absent for
   * even traffic.
   */
  readonly passesSeconds?: number;
}

/**
 * Returns the expected duration of a study. The results determine how often a sampler retries, and
 * how many levels it measures: most studies of the default sampler are within 30 %
 * (docs/search.md). A time budget is a hard limit.
 */
export function expectedDuration(prospect: Prospect): Expected {
  const { sampler, finalRounds, timeBudgetMs, isEmulated, isLaunched = false, passesSeconds } = prospect;
  const { length: search, usualTrials } = sampler;
  const trials = Math.min(prospect.trials, usualTrials ?? Number.POSITIVE_INFINITY);
  const perTrial = Math.min(search.perTrial, prospect.listedLevels ?? Number.POSITIVE_INFINITY);
  const wantedMs = LATENCIES_PER_WINDOW * computeLatencyMs(search, prospect);
  const measuringSeconds = (windows: number, minWindowMs: number): number => {
    if (passesSeconds !== undefined) return MEASUREMENT.besideSeconds + passesSeconds;
    const windowMs = Math.min(Math.max(wantedMs, minWindowMs), search.longestWindowMs);
    return MEASUREMENT.besideSeconds + (windows * windowMs) / MS_PER_S;
  };
  const restSeconds = search.atRest * computeRestSeconds(prospect);
  const loadSeconds = computeLoadSeconds(prospect);
  const inSearch = search.first + perTrial * trials;
  const withRounds = (rounds: number, eachLoad = loadSeconds) => {
    const inFinal = rounds * search.finalists;
    // In each round after the first, one side is still loaded.
    const loads = trials + (rounds > 0 ? inFinal - rounds + 1 : 0);
    const searching = inSearch * measuringSeconds(MEASUREMENT.searchWindows, searchWindows.minWindowMs);
    const deciding = inFinal * measuringSeconds(MEASUREMENT.finalWindows, defaultWindowRule.minWindowMs);
    const seconds = restSeconds + searching + deciding + loads * eachLoad;
    return { seconds, measurements: search.atRest + inSearch + inFinal, loads };
  };
  const within = (seconds: number): number => Math.min(seconds, timeBudgetMs / MS_PER_S);
  const even = withRounds(finalRounds);
  const rounds = isEmulated ? finalRounds : search.roundsTimes * finalRounds;
  const whole = withRounds(rounds);
  const fast = isEmulated || prospect.loadSeconds !== null ? whole : withRounds(rounds, FAST_LOAD_SECONDS);
  const around = isEmulated ? 0 : AROUND_SECONDS[isLaunched ? 'launched' : 'remote'];
  return {
    seconds: within(around + whole.seconds),
    leastSeconds: within(around + fast.seconds),
    even: { seconds: within(even.seconds), loads: even.loads, loadSeconds },
    measurements: Math.ceil(whole.measurements),
    trials: prospect.trials,
  };
}

/** Returns the seconds of a measurement with one or a few requests in flight. */
function computeRestSeconds({ requestMs }: Prospect): number {
  const { minWindowMs, maxWindowMs, maxWindows } = restWindows;
  const windowMs = Math.min(Math.max(LATENCIES_PER_WINDOW * (requestMs ?? 0), minWindowMs), maxWindowMs);
  return MEASUREMENT.besideSeconds + (maxWindows * windowMs) / MS_PER_S;
}

function computeLoadSeconds({ loadSeconds, isEmulated }: Prospect): number {
  if (loadSeconds === null) return isEmulated ? USUAL_LOAD_SECONDS.emulated : USUAL_LOAD_SECONDS.real;
  return isEmulated ? loadSeconds : loadSeconds + MORE_INSTANCES_SECONDS;
}

/**
 * Returns the mean latency at the measured levels: the lower of its two limits, blended if they are
 * close.
 */
function computeLatencyMs({ budgetShare, requestTimes }: SearchLength, { budgetMs, requestMs }: Prospect): number {
  const byBudget = budgetMs === null ? Number.POSITIVE_INFINITY : budgetShare * budgetMs;
  const byRequest = requestMs === null ? Number.POSITIVE_INFINITY : requestTimes * requestMs;
  const both = 1 / byBudget + 1 / byRequest;
  return both > 0 ? 1 / both : 0;
}
