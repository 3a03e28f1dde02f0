import { median } from 'simple-statistics';
import { realClock } from '#base/clock.ts';
import { MS_PER_S, nsToMs } from '#base/units.ts';
import type { PreparedInputs } from '#loadgen/inputs.ts';
import type { PreparedRequest, SendOutcome, Transport } from '#loadgen/types.ts';
import { lastLoadSeconds, metricsPage } from '#profiler/devices/metrics-page.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import { takesSequences } from '#triton/config/batching-rules.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { OpenServer, OriginalModel } from '../server/open-server.ts';
import type { Seen } from '../study/expected-duration.ts';
import { openLocalTraffic, type SeededTraffic } from './open-traffic.ts';

const MAX_REQUESTS = 10;
/** Sends no further request after this many milliseconds. */
const LONG_ENOUGH_MS = 1000;
const MAX_TIMEOUT_MS = 10_000;
const MIN_TIMEOUT_MS = 1000;
/** The part of a time budget that a request before the study may take. */
const BUDGET_SHARE = 0.1;
/** One request in flight. */
const alone = { mode: 'concurrency', low: 1, high: 1 } as const;

/**
 * Returns the whole milliseconds that a request before a study may take: ten seconds, fewer if the
 * study has little time itself.
 */
export const firstTimeoutMs = ({
  limits: { timeBudgetSeconds = Number.POSITIVE_INFINITY },
}: Pick<StudySpec, 'limits'>): number =>
  Math.round(Math.min(MAX_TIMEOUT_MS, Math.max(MIN_TIMEOUT_MS, BUDGET_SHARE * timeBudgetSeconds * MS_PER_S)));

/**
 * The result of a few requests, one after another: their median duration in ms, without the first;
 * or why none was answered.
 */
export type FirstRequests =
  | { readonly sent: number; readonly requestMs: number }
  | { readonly sent: number; readonly refusal: string };

/**
 * Sends the model a few requests, for a second or until a slow answer comes. Meanwhile, finds out
 * how long the model takes to load: from the load just made, else from the last one in the server's
 * metrics. Skips sequences, because each one begun would have to end. Errors: as
 * `openLocalTraffic`.
 */
export async function lookFirst(
  spec: SeededTraffic,
  opened: OpenServer,
  { config, loadMs }: OriginalModel,
  inputs: PreparedInputs,
  timeoutMs: number,
): Promise<{ readonly first: FirstRequests | null; readonly seen: Seen }> {
  const [first, loadSeconds] = await Promise.all([
    takesSequences(config) ? null : sendFirstRequests(spec, opened, config, inputs, timeoutMs),
    loadMs === null ? lastLoad(config.name ?? '', opened, timeoutMs) : loadMs / MS_PER_S,
  ]);
  return { first, seen: { requestMs: first && 'requestMs' in first ? first.requestMs : null, loadSeconds } };
}

async function sendFirstRequests(
  spec: SeededTraffic,
  opened: OpenServer,
  config: ModelConfig,
  inputs: PreparedInputs,
  timeoutMs: number,
): Promise<FirstRequests> {
  const traffic = await openLocalTraffic(opened, { spec, config, inputs, levels: alone, timeoutMs });
  try {
    const { requests } = traffic.requestsFor(config);
    const latenciesMs: number[] = [];
    const startNs = realClock.nowNs();
    while (latenciesMs.length < MAX_REQUESTS && nsToMs(realClock.nowNs() - startNs) < LONG_ENOUGH_MS) {
      const request = requests[latenciesMs.length % requests.length];
      if (!request) break;
      const sentNs = realClock.nowNs();
      const outcome = await sendOne(traffic.transport, traffic.transport.prepare(request));
      if (!outcome.ok) return { sent: latenciesMs.length + 1, refusal: outcome.message };
      latenciesMs.push(nsToMs(realClock.nowNs() - sentNs));
    }
    const warm = latenciesMs.length > 1 ? latenciesMs.slice(1) : latenciesMs;
    return { sent: latenciesMs.length, requestMs: median(warm) };
  } finally {
    await traffic.close();
  }
}

async function lastLoad(
  model: string,
  { metricsUrl, metricsTls, headers }: OpenServer,
  timeoutMs: number,
): Promise<number | null> {
  const samples = await metricsPage(metricsUrl, model, { tls: metricsTls, headers })(AbortSignal.timeout(timeoutMs));
  return samples && lastLoadSeconds(samples, model);
}

/** Sends one request. Resolves with how it ended. */
export const sendOne = (transport: Transport, prepared: PreparedRequest): Promise<SendOutcome> =>
  new Promise((resolve) => transport.send(prepared, resolve));
