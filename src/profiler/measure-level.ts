import { throwIfInterrupted } from '../base/abort.ts';
import { messageOf } from '../base/errors.ts';
import { nsToMs } from '../base/units.ts';
import type { LatencyHistogram } from '../stats/histogram.ts';
import type { Interval } from '../stats/interval.ts';
import type { ModelStatistics } from '../triton/types.ts';
import { watchClientCost } from './client-cost.ts';
import { meanDeviceMetrics } from './device-probe.ts';
import { defaultWindowRule, type LevelOptions } from './level-options.ts';
import type { DeviceMetrics, LatencySummary, Measurement } from './measurement.ts';
import { requestsServed, serverBreakdown } from './server-breakdown.ts';
import { Traffic } from './traffic.ts';
import { warmUp } from './warm-up.ts';
import { measureWindows, type WindowedFigures } from './windows.ts';

const STATISTICS_TIMEOUT_MS = 2000;
/** Statistics that hold less than this share of the requests answered are not about the same requests. */
const LEAST_COUNTED = 0.9;

/**
 * Measures what is served now at one load level: warms up, counts windows until the figures are trustworthy, and takes the
 * server's own statistics, the devices' metrics and the client's cost over the same time. Nothing is in flight
 * afterwards, or only what did not end within `drainMs`. The transport stays open for the next level.
 * Failing requests are part of the measurement. Errors: SERVER_UNREACHABLE, INTERRUPTED, UNSUPPORTED (a request rate).
 */
export async function measureLevel(options: LevelOptions): Promise<Measurement> {
  const rule = { ...defaultWindowRule, ...options.windows };
  const traffic = new Traffic(options);
  const cost = watchClientCost();
  const devices = new DeviceReadings(options);
  try {
    const atRest = await readStatistics(options);
    traffic.start();
    options.onProgress?.({ phase: 'warm-up' });
    const warmth = await warmUp(traffic, options, rule);

    const before = await readStatistics(options);
    const cpuBeforeUs = cost.cpuUs();
    const figures = await measureWindows(traffic, options, rule, warmth, (window) => {
      devices.read();
      options.onProgress?.(progressOf(window, options.requests.batch));
    });
    const cpuUs = cost.cpuUs() - cpuBeforeUs;
    const failures = traffic.failures;
    const after = await readStatistics(options);
    await traffic.confirmReachable();

    await traffic.drain();
    const afterRest = await readStatistics(options);
    const requests = figures.succeeded + figures.failed;
    return {
      level: options.level,
      throughput: scaled(figures.rate, options.requests.batch),
      latencyMs: latencySummary(figures.latencies),
      budgetLatencyMs: { percentile: options.percentile, ...figures.percentileMs },
      stable: figures.ending !== 'limit' && figures.ending !== 'failing',
      ...((figures.ending === 'met' || figures.ending === 'missed') && { budgetVerdict: figures.ending }),
      windows: figures.windows,
      durationMs: nsToMs(figures.durationNs),
      requests,
      failures,
      errorRate: requests === 0 ? 1 : figures.failed / requests,
      ...serverSide(before, after, figures.succeeded, options),
      ...foreignTraffic(atRest, afterRest, traffic.sent, options),
      device: await devices.mean(),
      client: { cpuUsPerRequest: cpuUs / Math.max(requests, 1), eventLoopDelayMs: cost.eventLoopDelayMs() },
    };
  } finally {
    cost.stop();
    devices.stop();
    await traffic.drain();
  }
}

type Reading = readonly ModelStatistics[] | { readonly unread: string };

async function readStatistics(options: LevelOptions): Promise<Reading> {
  try {
    const call = { timeoutMs: STATISTICS_TIMEOUT_MS, signal: options.signal };
    return await options.stats.statistics(options.requests.model, call);
  } catch (error) {
    throwIfInterrupted(options.signal);
    return { unread: messageOf(error) };
  }
}

function serverSide(
  before: Reading,
  after: Reading,
  succeeded: number,
  options: LevelOptions,
): Pick<Measurement, 'server' | 'serverNote'> {
  if ('unread' in before) return { server: null, serverNote: before.unread };
  if ('unread' in after) return { server: null, serverNote: after.unread };
  const outcome = serverBreakdown(before, after, options.requests.version);
  if (!outcome.usable) return { server: null, serverNote: outcome.note };
  const counted = requestsServed(before, after, options.requests.version) ?? 0;
  if (counted < LEAST_COUNTED * succeeded - 2 * options.level.value) {
    const note = `the server counted ${counted} requests where it answered ${succeeded}: was the model loaded anew, or is it one server of several?`;
    return { server: null, serverNote: note };
  }
  return { server: outcome.breakdown };
}

/**
 * Requests of others, from readings taken while nothing of ours was in flight. The server may count the last requests of
 * an earlier level only after it has answered them, so an excess that such a remainder could explain is none.
 */
function foreignTraffic(
  before: Reading,
  after: Reading,
  sent: number,
  options: LevelOptions,
): Pick<Measurement, 'foreignRequests'> {
  if ('unread' in before || 'unread' in after) return {};
  const excess = (requestsServed(before, after, options.requests.version) ?? 0) - sent;
  return excess > Math.max(2 * options.level.value, sent / 100) ? { foreignRequests: excess } : {};
}

function latencySummary(latencies: LatencyHistogram): LatencySummary {
  const percentile = (p: number): number => nsToMs(latencies.quantileNs(p / 100));
  return {
    avg: nsToMs(latencies.meanNs),
    p50: percentile(50),
    p90: percentile(90),
    p95: percentile(95),
    p99: percentile(99),
    max: nsToMs(latencies.maxNs),
  };
}

const progressOf = (figures: WindowedFigures, batch: number) =>
  ({
    phase: 'window',
    window: figures.windows,
    throughput: figures.rate.value * batch,
    latencyMs: figures.percentileMs.value,
  }) as const;

const scaled = (interval: Interval, factor: number): Interval => ({
  value: interval.value * factor,
  low: interval.low * factor,
  high: interval.high * factor,
});

/** Reads the devices beside the traffic, once a window, and no more after a reading that found nothing. */
class DeviceReadings {
  readonly #options: LevelOptions;
  readonly #stop = new AbortController();
  readonly #readings: Promise<DeviceMetrics | null>[] = [];
  #absent = false;

  constructor(options: LevelOptions) {
    this.#options = options;
  }

  read(): void {
    const probe = this.#options.deviceProbe;
    if (!probe || this.#absent) return;
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
