import { Agent, request } from 'undici';
import { secureConnect } from '../../triton/wire/http.ts';
import type { TlsOptions } from '../../triton/wire/tls.ts';
import { type MetricSample, parsePrometheus } from './prometheus.ts';

/** Reads a server's metrics page; null if nothing can be read. Never throws. */
export type MetricsPage = (signal: AbortSignal) => Promise<readonly MetricSample[] | null>;

const TIMEOUT_MS = 1000;
/** Consecutive failures after which the page is no longer requested, because each request costs time. */
const LAST_FAILURE = 3;
/** The page of a thousand models is a hundredth of this size. */
const MAX_PAGE_BYTES = 64 * 2 ** 20;

/**
 * Reads Triton's metrics page (`http://HOST:8002/metrics`). Ignores a page that counts the inferences of other models but not of `model`: another
 * server on that machine has the usual port. null for any model. `tls` is for an https:// address.
 */
export function metricsPage(url: string, model: string | null, tls?: TlsOptions): MetricsPage {
  // No idle connection between readings, because nothing would close the last one.
  const dispatcher = new Agent({
    pipelining: 0,
    maxResponseSize: MAX_PAGE_BYTES,
    ...(tls && { connect: secureConnect(tls) }),
  });
  let failures = 0;
  return async (signal) => {
    if (failures >= LAST_FAILURE) return null;
    try {
      const response = await request(url, {
        dispatcher,
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
      const text = await response.body.text();
      if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
      const samples = parsePrometheus(text);
      if (model !== null && isOfOthers(samples, model)) throw new Error('it is the page of another server');
      failures = 0;
      return samples;
    } catch {
      failures++;
      return null;
    }
  };
}

/** A loaded model is on its server's page before its first request. */
function isOfOthers(samples: readonly MetricSample[], model: string): boolean {
  const counted = samples.filter(({ name }) => name === 'nv_inference_request_success');
  return counted.length > 0 && !counted.some(({ labels }) => labels.model === model);
}

/**
 * Returns how long the last load of the model took, in seconds, from the gauge of newer servers (pages of 25.12 and 26.06 have it, 24.10's has
 * not); the slowest of several versions. null if the page lacks it.
 */
export function lastLoadSeconds(samples: readonly MetricSample[], model: string): number | null {
  const own = samples.filter(
    ({ name, labels, value }) => name === 'nv_model_load_duration_secs' && labels.model === model && value > 0,
  );
  return own.length === 0 ? null : Math.max(...own.map(({ value }) => value));
}
