import { TrituneError } from '../base/errors.ts';
import { NS_PER_S, NS_PER_US, nsToMs } from '../base/units.ts';
import { type ClientUse, watchClient } from '../loadgen/client/cost.ts';
import type { ClientTimeSums } from '../loadgen/client-times.ts';
import type { SendTally } from '../loadgen/pacing/open-loop.ts';
import type { Interval } from '../stats/interval.ts';
import { type ClientEvidence, clientLimit, needsCeiling } from './client-verdict.ts';
import { meanDeviceMetrics } from './devices/device-probe.ts';
import { httpReplies } from './http-replies.ts';
import { latencyPercentiles, latencySummary } from './latency-summary.ts';
import { defaultWindowRule, type LevelOptions, type WindowRule } from './level-options.ts';
import type { ClientFigures, ClientTimesUs, DeviceMetrics, Measurement, OpenLoopFigures } from './measurement.ts';
import { composingSide, foreignTraffic, readStatistics, serverSide } from './server-side.ts';
import { Traffic } from './traffic.ts';
import { type Warmth, wakeInstances, warmUp, warmUpByCount } from './warm-up.ts';
import { percentileRangeMs, type WindowedFigures } from './windows/figures.ts';
import type { WindowsOutcome } from './windows/outcome.ts';
import { tailEvidence } from './windows/void-windows.ts';
import { measureWindows } from './windows/windows.ts';

/**
 * Measures what is served now at one load level: warms up, counts windows until the figures are trustworthy, and takes the
 * server's own statistics, the devices' metrics and the client's cost over the same time. Nothing is in flight
 * afterwards, or only what did not end within `drainMs`. The transport stays open for the next level.
 * Failing requests are part of the measurement, and so is whether the client itself was the limit. Errors:
 * SERVER_UNREACHABLE, INTERRUPTED.
 */
export async function measureLevel(options: LevelOptions): Promise<Measurement> {
  const rule = { ...defaultWindowRule, ...options.windows };
  const traffic = new Traffic(options, mostRequests(options));
  const client = (options.watchClient ?? watchClient)();
  const devices = new DeviceReadings(options);
  try {
    const atRest = await readStatistics(options);
    const hostWork = [options.hostWorkUs?.()];
    options.onProgress?.({ phase: 'warm-up' });
    const { sentApart, ...warmth } = await warm(traffic, options, rule);

    client.restart();
    await traffic.takeTally();
    const startNs = options.clock.nowNs();
    const figures = await measureWindows(traffic, options, rule, warmth, (window) => {
      devices.readIfDue();
      options.onProgress?.(window);
    });
    const use = await client.read();
    devices.readIfNone();
    const tally = await traffic.takeTally();
    const paced = pacedFigures(tally, figures, (options.clock.nowNs() - startNs) / NS_PER_S);
    const failures = traffic.failures;
    const [before, after] = await Promise.all([figures.start.reading, figures.end.reading]);
    const composing = composingSide(await figures.start.composing, await figures.end.composing, figures.countedShare);
    await traffic.confirmReachable();

    await traffic.drain();
    const afterRest = await readStatistics(options);
    hostWork.push(options.hostWorkUs?.());
    const asked = {
      requests: options.requests,
      mostInFlight: traffic.mostInFlight,
      countedShare: figures.countedShare,
    };
    const server = serverSide(before, after, figures.succeeded, asked);
    if (options.stats) checkSameServer(failures, server, figures.succeeded, traffic.mostInFlight);
    const requests = figures.succeeded + figures.failed;
    const dropped = paced?.droppedSends ?? 0;
    const limits = await clientFigures(use, figures, paced, options);
    const windowPercentilesMs = percentileRangeMs(figures.ofEach, options.percentile);
    return {
      level: options.level,
      throughput: scaled(figures.rate, options.requests.batch),
      latencyMs: latencySummary(figures.latencies),
      ...(options.percentiles && {
        latencyPercentilesMs: latencyPercentiles(figures.latencies, options.percentiles),
      }),
      budgetLatencyMs: { percentile: options.percentile, ...figures.percentileMs },
      ...(windowPercentilesMs && { windowPercentilesMs }),
      stable: figures.stable,
      ...(traffic.tooManyErrors && { tooManyErrors: true }),
      ...(figures.budgetVerdict && !limits.starved && { budgetVerdict: figures.budgetVerdict }),
      windows: figures.windows,
      ...(figures.coldWindows > 0 && { coldWindows: figures.coldWindows }),
      ...(figures.voidWindows > 0 && { voidWindows: figures.voidWindows }),
      durationMs: nsToMs(figures.durationNs),
      requests,
      ...(figures.responses > 0 && { responses: figures.responses }),
      ...(options.sequences && { sequences: figures.sequences }),
      sendRate: figures.durationNs > 0 ? (figures.sent / figures.durationNs) * NS_PER_S : 0,
      failures: dropped > 0 ? [...failures, { kind: 'dropped', count: dropped, firstMessage: DROPPED }] : failures,
      errorRate: requests === 0 ? 1 : (figures.failed + dropped) / (requests + dropped),
      ...server,
      ...(composing.length > 0 && { composing }),
      ...foreignTraffic(atRest, afterRest, sentApart + traffic.sent, asked),
      device: await devices.mean(),
      ...hostFigure(hostWork),
      client: limits,
      ...(figures.clientTimes && { clientTimes: meanTimes(figures.clientTimes) }),
      ...(paced && { openLoop: paced }),
      ...(figures.replies && { replies: httpReplies(figures.replies, figures.fromDue ?? figures.latencies) }),
    };
  } finally {
    client.stop();
    devices.stop();
    await traffic.drain();
  }
}

/** The mean over the readings before and after. */
function hostFigure(readings: readonly (number | undefined)[]): Pick<Measurement, 'hostWorkUs'> {
  const known = readings.filter((reading) => reading !== undefined);
  return known.length === 0 ? {} : { hostWorkUs: known.reduce((sum, each) => sum + each, 0) / known.length };
}

function meanTimes({ requests, ...sums }: ClientTimeSums): ClientTimesUs {
  const meanUs = (sumNs: number): number => sumNs / requests / NS_PER_US;
  return {
    requests,
    marshalUs: meanUs(sums.marshalNs),
    sendUs: meanUs(sums.sendNs),
    waitUs: meanUs(sums.waitNs),
    receiveUs: meanUs(sums.receiveNs),
    unmarshalUs: meanUs(sums.unmarshalNs),
  };
}

const mostRequests = ({ stability }: LevelOptions): number =>
  stability?.kind === 'request-count' ? stability.requests : Number.POSITIVE_INFINITY;

/** Warms up; with traffic of its own where an exact number of requests is asked for, which `sentApart` counts. */
async function warm(
  traffic: Traffic,
  options: LevelOptions,
  rule: WindowRule,
): Promise<Warmth & { readonly sentApart: number }> {
  const isCounted = options.stability?.kind === 'request-count';
  const count = options.warmUpRequests ?? (isCounted ? 0 : undefined);
  const woken = count === undefined && options.isFresh ? await wakeInstances(options, rule) : 0;
  const apart = count === undefined ? null : await warmUpByCount(options, count);
  // A counted window starts its traffic itself: it begins with the first request.
  if (!isCounted) traffic.start();
  if (apart === null) return { ...(await warmUp(traffic, options, rule)), sentApart: woken };
  return { ...apart, sentApart: apart.sent };
}

/** A server that served all along has counted more than this share of the answered requests. */
const LEAST_COUNTED = 0.99;

/**
 * Errors: SERVER_UNREACHABLE when nothing listened for a while and the statistics are not those of one server that served
 * all along: what was measured then is two servers and the time between them.
 */
function checkSameServer(
  failures: Measurement['failures'],
  { server, serverNote }: Pick<Measurement, 'server' | 'serverNote'>,
  succeeded: number,
  mostInFlight: number,
): void {
  const refused = failures.find(({ kind }) => kind === 'refused');
  if (!refused || (server && server.successCount >= LEAST_COUNTED * succeeded - 2 * mostInFlight)) return;
  throw new TrituneError(
    'SERVER_UNREACHABLE',
    `the server was gone for a while: ${refused.firstMessage}${serverNote === undefined ? '' : `; ${serverNote}`}`,
    'see why it ended, and measure again',
  );
}

const DROPPED = 'not sent when it was due: too many requests were in flight';

function pacedFigures(tally: SendTally | null, figures: WindowedFigures, seconds: number): OpenLoopFigures | null {
  if (tally === null) return null;
  return {
    scheduledLatencyMs: latencySummary(figures.fromDue ?? figures.latencies),
    lateSends: tally.late,
    droppedSends: tally.dropped,
    sendLatenessP50Us: tally.lateness.quantileNs(0.5) / NS_PER_US,
    achievedRate: seconds > 0 ? tally.sent / seconds : 0,
  };
}

async function clientFigures(
  use: ClientUse,
  figures: WindowsOutcome,
  paced: OpenLoopFigures | null,
  options: LevelOptions,
): Promise<ClientFigures> {
  const tail = tailEvidence(figures, options);
  const evidence: ClientEvidence = {
    use,
    tail: tail && { ...tail, percentile: options.percentile, budgetMs: judgedBudgetMs(options) },
    requestRate: figures.rate.value,
    latencyP50Ms: nsToMs(figures.latencies.quantileNs(0.5)),
    sends: paced && {
      latenessP50Ms: paced.sendLatenessP50Us / 1e3,
      percentile: options.percentile,
      fromDueMs: figures.percentileMs.value,
      fromSendMs: nsToMs(figures.latencies.quantileNs(options.percentile / 100)),
      budgetMs: options.budgetMs ?? Number.POSITIVE_INFINITY,
    },
  };
  const ceiling = needsCeiling(evidence) ? await options.clientCeiling?.() : null;
  const limit = clientLimit(evidence, ceiling ?? null);
  return {
    cpuUsPerRequest: use.cpuUs / Math.max(figures.succeeded + figures.failed, 1),
    eventLoopDelayMs: use.longestDelayMs,
    ...(use.besideShare !== undefined && { besideCpuShare: use.besideShare }),
    ...(tail && {
      gcMs: nsToMs(tail.heldUp.pauses.reduce((total, { gcNs }) => total + gcNs, 0)),
      tailShiftMs: nsToMs(tail.shiftNs),
    }),
    bound: limit !== null,
    ...(limit && { reason: limit.reason }),
    ...(limit?.isStarved && { starved: true }),
  };
}

/** By the other rules a level is reported as perf_analyzer reports it, whatever held the client up. */
const judgedBudgetMs = ({ stability, budgetMs }: LevelOptions): number | null =>
  stability === undefined || stability.kind === 'interval' ? (budgetMs ?? null) : null;

const scaled = (interval: Interval, factor: number): Interval => ({
  value: interval.value * factor,
  low: interval.low * factor,
  high: interval.high * factor,
});

/** The server renews its figures so often, and to read them takes CPU from who serves. */
const READ_EVERY_NS = 2 * NS_PER_S;

/** Reads the devices beside the traffic, every two seconds or once, and no more after a reading that found nothing. */
class DeviceReadings {
  readonly #options: LevelOptions;
  readonly #stop = new AbortController();
  readonly #readings: Promise<DeviceMetrics | null>[] = [];
  #absent = false;
  #lastNs: number;

  constructor(options: LevelOptions) {
    this.#options = options;
    this.#lastNs = options.clock.nowNs();
  }

  readIfDue(): void {
    if (this.#options.clock.nowNs() - this.#lastNs >= READ_EVERY_NS) this.#read();
  }

  /** For the end of the windows. */
  readIfNone(): void {
    if (this.#readings.length === 0) this.#read();
  }

  #read(): void {
    const probe = this.#options.deviceProbe;
    if (!probe || this.#absent) return;
    this.#lastNs = this.#options.clock.nowNs();
    const reading = probe(this.#stop.signal).catch(() => null);
    this.#readings.push(reading);
    void reading.then((metrics) => {
      this.#absent ||= metrics === null;
    });
  }

  async mean(): Promise<DeviceMetrics> {
    const readings = await Promise.all(this.#readings);
    return meanDeviceMetrics(readings.filter((reading) => reading !== null));
  }

  stop(): void {
    this.#stop.abort();
  }
}
