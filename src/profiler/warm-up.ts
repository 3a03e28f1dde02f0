import { TrituneError } from '#base/errors.ts';
import { formatDuration } from '#base/format.ts';
import { MS_PER_S, msToNs, NS_PER_S, nsToMs } from '#base/units.ts';
import type { Batch } from '#loadgen/recorder.ts';
import type { LevelOptions, WindowRule } from './level-options.ts';
import { requestsServed } from './server-breakdown.ts';
import { readStatistics, type StatisticsReading } from './server-side.ts';
import { MeasuredTraffic } from './traffic.ts';

const ROUND_MS = 20;
const MIN_REQUESTS_PER_ROUND = 4;
/**
 * Requests per instance: the scheduler distributes them unevenly, so one each would leave some
 * instances cold.
 */
const REQUESTS_PER_INSTANCE = 4;
const MIN_ROUNDS = 3;
/** The maximum number of simultaneous requests to make every instance execute. */
const MAX_TO_WAKE = 256;
/**
 * Latency counts as still falling if the mean of the last round is below this share of the mean
 * half-way back.
 */
const FALLING = 0.95;

/** The first answers are said to be awaited after this time. */
const TOLD_AFTER_MS = 5_000;
/** Time between two looks at what the server has counted. */
const COUNT_LOOK_MS = 250;

/** Figures of the last warm-up round; zeros if no request succeeded. */
export interface Warmth {
  readonly meanLatencyNs: number;
  /** Between pieces of streamed replies; absent without any. */
  readonly meanGapNs?: number;
  readonly requestsPerSecond: number;
}

/** Requests sent before the traffic began. */
export interface Apart {
  readonly sent: number;
  /** Set if they were the whole warm-up. */
  readonly warmth: Warmth | null;
  /** How long those took that wake the instances after a load; 0 without any. */
  readonly wakingMs: number;
}

const NO_WARMTH: Warmth = { meanLatencyNs: 0, requestsPerSecond: 0 };

const isCounted = ({ stability }: LevelOptions): boolean => stability?.kind === 'request-count';

/**
 * Sends the requests that precede the traffic: the exact number asked for, or those that wake all
 * instances after a load. `before`: the server's statistics, read while nothing was in flight.
 * Errors: as `wakeInstances`.
 */
export async function warmApart(options: LevelOptions, rule: WindowRule, before: StatisticsReading): Promise<Apart> {
  const count = options.warmUpRequests ?? (isCounted(options) ? 0 : undefined);
  if (count === undefined) {
    const { clock, isFresh } = options;
    const startNs = clock.nowNs();
    const sent = isFresh ? await wakeInstances(options, rule, before) : 0;
    const wakingMs = nsToMs(clock.nowNs() - startNs);
    if (wakingMs >= TOLD_AFTER_MS) options.onProgress?.({ phase: 'warm-up' });
    return { sent, warmth: null, wakingMs };
  }
  const { sent, ...warmth } = await warmUpByCount(options, count);
  return { sent, warmth, wakingMs: 0 };
}

/** Starts the traffic, and warms up with it unless that has already been done. */
export async function startWarm(
  traffic: MeasuredTraffic,
  options: LevelOptions,
  rule: WindowRule,
  apart: Apart,
): Promise<Warmth & { readonly sentApart: number }> {
  // A counted window starts its traffic itself, because it begins with the first request.
  if (!isCounted(options)) traffic.start();
  return { ...(apart.warmth ?? (await warmUp(traffic, options, rule))), sentApart: apart.sent };
}

/**
 * Sends at the level without counting until every instance has had requests and the mean latency
 * has stopped falling: the first executions after a load are slow (lazy allocation, graph capture,
 * autotuning). Bounded by `maxWarmUpMs`, or by the first completion if that comes later, and by the
 * time of the measurement.
 */
export async function warmUp(traffic: MeasuredTraffic, options: LevelOptions, rule: WindowRule): Promise<Warmth> {
  const rounds: Batch[] = [];
  const inFlight = options.level.mode === 'concurrency' ? options.level.value : 0;
  const perRound = Math.max(inFlight, MIN_REQUESTS_PER_ROUND);
  const needed = Math.max(2 * perRound, REQUESTS_PER_INSTANCE * (options.instances ?? 1));
  traffic.record({ lengthNs: msToNs(ROUND_MS), minRequests: perRound }, (round) => rounds.push(round));
  const isWarm = (): boolean => countRequests(rounds) >= needed && isEven(rounds);
  await traffic.waitUntil(isWarm, msToNs(rule.maxWarmUpMs));
  // The latency determines a window's length, so at least one completion is needed; the transport's
  // timeout bounds this wait.
  while (rounds.length === 0 && !traffic.isTimeUp) await traffic.waitUntil(isWarm, 0);
  const last = rounds.at(-1);
  return last ? computeWarmth(last) : NO_WARMTH;
}

/**
 * Sends exactly this many requests as separate traffic and leaves none in flight. The transport's
 * timeout bounds each request.
 */
async function warmUpByCount(options: LevelOptions, requests: number): Promise<Warmth & { readonly sent: number }> {
  if (requests === 0) return { ...NO_WARMTH, sent: 0 };
  const traffic = new MeasuredTraffic(options, requests);
  let all: Batch | null = null;
  traffic.record({ lengthNs: 0, minRequests: requests }, (batch) => (all = batch), options.clock.nowNs());
  try {
    traffic.start();
    const allDue = (): boolean => traffic.dueByNow !== null && traffic.dueByNow >= requests;
    await traffic.waitUntil(() => all !== null || allDue(), Number.POSITIVE_INFINITY);
  } finally {
    await traffic.drain();
  }
  const warmth = all === null ? NO_WARMTH : computeWarmth(all);
  return { ...warmth, sent: traffic.sent };
}

/**
 * Sends twice as many requests at once as all instances together can hold, so that each instance
 * must execute; light traffic leaves that to chance. This also executes the largest batch. A
 * backend that builds its engine for the first request may take minutes: while requests time out,
 * waits until the server has executed them, and sends again. Ends with nothing in flight. Returns
 * the number of requests sent. Does nothing for sequences, which are bound to an instance. Errors:
 * SERVER_TIMEOUT if `firstAnswersMs` pass without an answer.
 */
async function wakeInstances(options: LevelOptions, rule: WindowRule, before: StatisticsReading): Promise<number> {
  const { instances = 1, requestsPerExecution = 1, maxInFlight = MAX_TO_WAKE, sequences, clock } = options;
  if (sequences) return 0;
  const inFlight = Math.min(2 * instances * requestsPerExecution, maxInFlight, MAX_TO_WAKE);
  const startNs = clock.nowNs();
  const limitNs = startNs + msToNs(options.firstAnswersMs ?? rule.maxWarmUpMs);
  const endNs = Math.min(limitNs, options.untilNs ?? Number.POSITIVE_INFINITY);
  const tell = onceAfter(startNs + msToNs(TOLD_AFTER_MS), () => options.onProgress?.({ phase: 'first-answers' }));
  for (let sent = 0; ; ) {
    const round = await sendRound(options, inFlight, endNs, tell);
    sent += round.sent;
    if (!round.hasTimedOut) return sent;
    if (clock.nowNs() >= endNs) {
      const isLimit = options.firstAnswersMs !== undefined && endNs === limitNs;
      if (isLimit && round.succeeded === 0) throw unanswered(options.firstAnswersMs);
      return sent;
    }
    // Instances that are ready would answer the next round for those that still build.
    await untilCounted(options, before, sent, endNs);
  }
}

const unanswered = (limitMs: number): TrituneError =>
  new TrituneError(
    'SERVER_TIMEOUT',
    `the model answered none of its first requests within ${formatDuration(limitMs / MS_PER_S)}`,
    'read the log of the server; if it builds an engine, allow more with --first-request-timeout',
  );

/** Sends twice as many requests as are in flight at once. */
async function sendRound(
  options: LevelOptions,
  inFlight: number,
  endNs: number,
  onLook: (nowNs: number) => void,
): Promise<{ readonly sent: number; readonly succeeded: number; readonly hasTimedOut: boolean }> {
  const requests = 2 * inFlight;
  const { clock } = options;
  const traffic = new MeasuredTraffic({ ...options, level: { mode: 'concurrency', value: inFlight } }, requests);
  let round: Batch | null = null;
  const take = (batch: Batch): void => {
    round = batch;
  };
  traffic.record({ lengthNs: 0, minRequests: requests }, take, clock.nowNs());
  try {
    traffic.start();
    const isDone = (): boolean => {
      onLook(clock.nowNs());
      return round !== null;
    };
    await traffic.waitUntil(isDone, Math.max(0, endNs - clock.nowNs()));
  } finally {
    await traffic.drain();
  }
  const { succeeded = 0, failures = [] }: Partial<Batch> = round ?? {};
  const hasTimedOut = round === null || failures.some(({ kind }) => kind === 'timeout');
  return { sent: traffic.sent, succeeded, hasTimedOut };
}

/**
 * Waits until the server has counted this number of requests since `before`, or until `endNs`.
 * Without statistics it does not wait.
 */
async function untilCounted(
  options: LevelOptions,
  before: StatisticsReading,
  requests: number,
  endNs: number,
): Promise<void> {
  const { clock, signal } = options;
  while (clock.nowNs() < endNs) {
    const now = await readStatistics(options);
    if ('unread' in before || 'unread' in now) return;
    if ((requestsServed(before, now, options.requests.version) ?? requests) >= requests) return;
    await clock.sleep(COUNT_LOOK_MS, signal);
  }
}

/** Returns a function that calls `act` once, when it is called with a time after this one. */
function onceAfter(atNs: number, act: () => void): (nowNs: number) => void {
  let isDue = true;
  return (nowNs) => {
    if (!isDue || nowNs < atNs) return;
    isDue = false;
    act();
  };
}

const countRequests = (rounds: readonly Batch[]): number =>
  rounds.reduce((total, round) => total + round.succeeded + round.failed, 0);

/**
 * Compares with the round half-way back, so that it also notices a slow decline with small steps.
 */
function isEven(rounds: readonly Batch[]): boolean {
  if (rounds.length < MIN_ROUNDS) return false;
  const last = rounds.at(-1) as Batch;
  const halfWay = rounds[Math.floor((rounds.length - 1) / 2)] as Batch;
  return last.latencies.meanNs >= FALLING * halfWay.latencies.meanNs;
}

function computeWarmth(round: Batch): Warmth {
  const seconds = (round.endNs - round.startNs) / NS_PER_S;
  return {
    meanLatencyNs: round.latencies.meanNs,
    ...(round.tokens && round.tokens.itl.count > 0 && { meanGapNs: round.tokens.itl.meanNs }),
    requestsPerSecond: seconds > 0 ? round.succeeded / seconds : 0,
  };
}
