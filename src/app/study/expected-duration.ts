import { restWindows, searchWindows } from '../../adapter/triton/profile.ts';
import { MS_PER_S } from '../../base/units.ts';
import { defaultWindowRule } from '../../profiler/level-options.ts';
import type { SamplerKind } from '../../study/search/samplers/registry.ts';
import type { SearchLength } from '../../study/search/samplers/search-length.ts';

/** Warm-up, waking the instances, and letting requests in flight end; and windows until it is enough, in the search and in the final. */
const MEASUREMENT = { besideSeconds: 0.55, searchWindows: 2.8, finalWindows: 3.5 };
/** A window holds about this many latencies one after the other where that is longer than its least length. */
const LATENCIES_PER_WINDOW = 20;
/** Default duration of a full load: of small models on a real Triton, including refused loads and waits for the old instances, and of the emulator's profiles. */
const USUAL_LOAD_SECONDS = { real: 1.5, emulated: 0.3 };
/** What a load takes longer than that of the original config, as most candidates have more instances. */
const MORE_INSTANCES_SECONDS = 0.25;
/** A load on a real server that takes configs as they are. */
const FAST_LOAD_SECONDS = 0.1 + MORE_INSTANCES_SECONDS;
/** To look at the server and to write what was found; and to start and to end one for the run. Of an emulated one next to nothing. */
const AROUND_SECONDS = { remote: 1.5, launched: 5 };

/** What is seen of the model before a study. */
export interface Seen {
  /** What a request takes that is alone on the server; null where none was sent. */
  readonly requestMs: number | null;
  /** What the original config took to load; null where that was not seen. */
  readonly loadSeconds: number | null;
}

export interface Expected {
  readonly seconds: number;
  /** Where loads that were not seen are fast ones; else the same. */
  readonly leastSeconds: number;
  /** With a final of no more than its planned rounds, and what of that are loads. */
  readonly even: { readonly seconds: number; readonly loads: number; readonly loadSeconds: number };
  readonly measurements: number;
  /** At most. */
  readonly trials: number;
}

/** What is known before a study. */
export interface Prospect extends Seen {
  readonly sampler: Pick<SamplerKind, 'length' | 'usualTrials'>;
  /** At most; Infinity where the space has no end. */
  readonly trials: number;
  /** How many load levels each candidate is measured at, where they are listed. */
  readonly listedLevels?: number | undefined;
  readonly finalRounds: number;
  /** null where there is none. */
  readonly budgetMs: number | null;
  readonly timeBudgetMs: number;
  readonly isEmulated: boolean;
  /** The server is started for the run. */
  readonly isLaunched?: boolean;
  /** What a level plays of the study's workloads, which are measured over whole passes; absent for even traffic. */
  readonly passesSeconds?: number;
}

/**
 * What a study is likely to take. How often a sampler tries again, and how far the levels go, depends on what is found:
 * most studies of the default sampler are within 30 % (docs/search.md). A time budget holds.
 */
export function expectedDuration(prospect: Prospect): Expected {
  const { sampler, finalRounds, timeBudgetMs, isEmulated, isLaunched = false, passesSeconds } = prospect;
  const { length: search, usualTrials } = sampler;
  const trials = Math.min(prospect.trials, usualTrials ?? Number.POSITIVE_INFINITY);
  const perTrial = Math.min(search.perTrial, prospect.listedLevels ?? Number.POSITIVE_INFINITY);
  const wantedMs = LATENCIES_PER_WINDOW * latencyMsOf(search, prospect);
  const measuringSeconds = (windows: number, minWindowMs: number): number => {
    if (passesSeconds !== undefined) return MEASUREMENT.besideSeconds + passesSeconds;
    const windowMs = Math.min(Math.max(wantedMs, minWindowMs), search.longestWindowMs);
    return MEASUREMENT.besideSeconds + (windows * windowMs) / MS_PER_S;
  };
  const restSeconds = search.atRest * restSecondsOf(prospect);
  const loadSeconds = loadSecondsOf(prospect);
  const inSearch = search.first + perTrial * trials;
  const withRounds = (rounds: number, eachLoad = loadSeconds) => {
    const inFinal = rounds * search.finalists;
    // In each round after the first one side is still served.
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

/** Returns the seconds of a measurement with one request in flight, or a few. */
function restSecondsOf({ requestMs }: Prospect): number {
  const { minWindowMs, maxWindowMs, maxWindows } = restWindows;
  const windowMs = Math.min(Math.max(LATENCIES_PER_WINDOW * (requestMs ?? 0), minWindowMs), maxWindowMs);
  return MEASUREMENT.besideSeconds + (maxWindows * windowMs) / MS_PER_S;
}

function loadSecondsOf({ loadSeconds, isEmulated }: Prospect): number {
  if (loadSeconds === null) return isEmulated ? USUAL_LOAD_SECONDS.emulated : USUAL_LOAD_SECONDS.real;
  return isEmulated ? loadSeconds : loadSeconds + MORE_INSTANCES_SECONDS;
}

/** The mean latency at the levels that are measured: whichever of its two limits is lower, softly where they are near. */
function latencyMsOf({ budgetShare, requestTimes }: SearchLength, { budgetMs, requestMs }: Prospect): number {
  const byBudget = budgetMs === null ? Number.POSITIVE_INFINITY : budgetShare * budgetMs;
  const byRequest = requestMs === null ? Number.POSITIVE_INFINITY : requestTimes * requestMs;
  const both = 1 / byBudget + 1 / byRequest;
  return both > 0 ? 1 / both : 0;
}
