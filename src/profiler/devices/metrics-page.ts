import { Agent, request } from 'undici';
import { secretsInUrl, secretsOut, withoutSecrets } from '#base/secrets.ts';
import type { RequestHeader } from '#loadgen/types.ts';
import { secureConnect } from '#triton/wire/http.ts';
import type { TlsOptions } from '#triton/wire/tls.ts';
import { type MetricSample, parseSample } from './prometheus.ts';

/** Reads a server's metrics page; null if nothing can be read. Never throws. */
export type MetricsPage = (signal: AbortSignal) => Promise<readonly MetricSample[] | null>;

export interface PageAccess {
  /** For an https:// address. */
  readonly tls?: TlsOptions | undefined;
  /** What else the server is told, and what its page must not repeat; they are not sent. */
  readonly headers?: readonly RequestHeader[] | undefined;
}

const TIMEOUT_MS = 1000;
/**
 * Consecutive failures after which the page is no longer requested, because each request costs
 * time.
 */
const LAST_FAILURE = 3;
/**
 * The page of two thousand models has fewer. A longer one would take longer to read than the
 * windows that it is read for.
 */
const MAX_SAMPLES = 100_000;
const MAX_PAGE_BYTES = 32 * 2 ** 20;
const MAX_LINE_LENGTH = 2 ** 16;

/**
 * Reads Triton's metrics page (`http://HOST:8002/metrics`). Ignores a page that counts the
 * inferences of other models but not of `model`: another server on that machine has the usual port.
 * null for any model.
 */
export function metricsPage(url: string, model: string | null, { tls, headers = [] }: PageAccess = {}): MetricsPage {
  const clear = withoutSecrets(secretsInUrl(url));
  const clearHeaders = secretsOut(headers);
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
      const samples = await listSamples(response.body, (line) => clear(clearHeaders(line)));
      if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
      if (model !== null && isOfOthers(samples, model)) throw new Error('it is the page of another server');
      failures = 0;
      return samples;
    } catch {
      failures++;
      return null;
    }
  };
}

/**
 * Reads line by line, and holds only samples. `clear` takes secrets out of a line. Throws for a
 * page that is too long.
 */
async function listSamples(
  body: AsyncIterable<Uint8Array>,
  clear: (line: string) => string,
): Promise<readonly MetricSample[]> {
  const decoder = new TextDecoder();
  const samples: MetricSample[] = [];
  let rest = '';
  for await (const piece of body) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split('\n');
    rest = lines.pop() as string;
    if (rest.length > MAX_LINE_LENGTH) throw new RangeError('a line is too long');
    for (const line of lines) {
      const sample = parseSample(clear(line));
      if (sample) samples.push(sample);
    }
    if (samples.length > MAX_SAMPLES) throw new RangeError('there are too many samples');
  }
  const last = parseSample(clear(rest));
  return last ? [...samples, last] : samples;
}

/** A loaded model is on its server's page before its first request. */
function isOfOthers(samples: readonly MetricSample[], model: string): boolean {
  const counted = samples.filter(({ name }) => name === 'nv_inference_request_success');
  return counted.length > 0 && !counted.some(({ labels }) => labels.model === model);
}

/**
 * Returns how long the last load of the model took, in seconds, from the gauge of newer servers
 * (pages of 25.12 and 26.06 have it, 24.10's has not); the slowest of several versions. null if the
 * page lacks it.
 */
export function lastLoadSeconds(samples: readonly MetricSample[], model: string): number | null {
  const keptSamples = samples.filter(
    ({ name, labels, value }) => name === 'nv_model_load_duration_secs' && labels.model === model && value > 0,
  );
  return keptSamples.length === 0 ? null : Math.max(...keptSamples.map(({ value }) => value));
}
