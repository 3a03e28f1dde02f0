import { z } from 'zod';
import { formatMessage, isTrituneError, TrituneError } from '#base/errors.ts';
import { formatDuration, plainLine } from '#base/format.ts';
import { describeFaults } from '#base/schema-faults.ts';
import { shownUrl } from '#base/secrets.ts';
import { type CounterName, counterMetrics, type ScrapedCounter } from '#explain/prometheus-readings.ts';

/** A question to Prometheus. */
export interface PrometheusQuery {
  /** The address of its HTTP API, such as `http://prometheus:9090`. */
  readonly url: string;
  /** Length of the time until now. */
  readonly sinceSeconds: number;
  /** Labels that series must have, as PromQL writes them, such as `namespace="prod"`. */
  readonly labels: string;
  /** Seconds since 1970. */
  readonly nowSeconds: number;
}

const TIMEOUT_MS = 60_000;
const MAX_ANSWER_BYTES = 64 * 2 ** 20;
/** Points of a series; each is as long as some scrapes. */
const MAX_POINTS = 600;
/** Times over which scrapes are counted: a shorter one if there were enough in it. */
const COUNTED_S = [60, 600] as const;
const MIN_SCRAPES = 2;

const labels = z.record(z.string(), z.string());
const sample = z.tuple([z.number(), z.string()]);
const vectorSchema = z.object({
  data: z.object({ result: z.array(z.object({ metric: labels, value: sample })) }),
});
const matrixSchema = z.object({
  data: z.object({ result: z.array(z.object({ metric: labels, values: z.array(sample) })) }),
});

/**
 * Reads Triton's counters of the past from Prometheus, by queries of its HTTP API. Errors:
 * SERVER_UNREACHABLE, SERVER_TIMEOUT, SERVER_FAILED with Prometheus' own words; INPUT_INVALID if it
 * has no such counters.
 */
export async function readPrometheus(query: PrometheusQuery, signal: AbortSignal): Promise<readonly ScrapedCounter[]> {
  const scrapeSeconds = await findScrapeSeconds(query, signal);
  const { nowSeconds, sinceSeconds } = query;
  // A multiple of the time between scrapes, so that each point has as many new ones.
  const step = scrapeSeconds * Math.max(1, Math.ceil(sinceSeconds / MAX_POINTS / scrapeSeconds));
  const series: ScrapedCounter[] = [];
  for (const counter of Object.keys(counterMetrics) as CounterName[]) {
    const parameters = { start: `${nowSeconds - sinceSeconds}`, end: `${nowSeconds}`, step: `${step}` };
    const text = await ask(query, 'query_range', { query: select(query, counter), ...parameters }, signal);
    series.push(...parseSeries(counter, text));
  }
  return series;
}

/** Reads the answer to a query for a counter over time. Errors: SERVER_FAILED. */
export const parseSeries = (counter: CounterName, text: string): readonly ScrapedCounter[] =>
  parseAnswer(text, matrixSchema).map(({ metric, values }) => {
    const { instance = '', model = '', version = '' } = metric;
    const counts = values.map(([second, count]) => [second, Number(count)] as const);
    return { counter, instance, model, version, values: new Map(counts.filter(([, count]) => count >= 0)) };
  });

const select = ({ labels: wanted }: PrometheusQuery, counter: CounterName): string =>
  `${counterMetrics[counter]}{${wanted}}`;

/** Returns the seconds between two scrapes, by how many there were lately. */
async function findScrapeSeconds(query: PrometheusQuery, signal: AbortSignal): Promise<number> {
  for (const seconds of COUNTED_S) {
    const parameters = {
      query: `max(count_over_time(${select(query, 'success')}[${seconds}s]))`,
      time: `${query.nowSeconds}`,
    };
    const [counted] = parseAnswer(await ask(query, 'query', parameters, signal), vectorSchema);
    const scrapes = Number(counted?.value[1]);
    if (scrapes >= MIN_SCRAPES) return Math.max(1, Math.round(seconds / scrapes));
  }
  throw new TrituneError(
    'INPUT_INVALID',
    `${shown(query)} has no '${select(query, 'success')}' of the last minutes`,
    'let it scrape the metrics of Triton (port 8002), or correct --prometheus-labels',
  );
}

const shown = ({ url }: PrometheusQuery): string => plainLine(shownUrl(url), 200);

/** Returns the text of an answer. Errors: SERVER_*. */
async function ask(
  query: PrometheusQuery,
  call: 'query' | 'query_range',
  parameters: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<string> {
  const target = new URL(`${query.url.replace(/\/+$/, '')}/api/v1/${call}`);
  const { username, password } = target;
  [target.username, target.password] = ['', ''];
  for (const [name, value] of Object.entries(parameters)) target.searchParams.set(name, value);
  const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
  const headers = username === '' ? {} : { authorization: `Basic ${credentials}` };
  const fail = (code: 'SERVER_UNREACHABLE' | 'SERVER_TIMEOUT' | 'SERVER_FAILED', reason: string): TrituneError =>
    new TrituneError(code, `${shown(query)}: ${reason}`, HINT);
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const response = await fetch(target, { headers, signal: limit, redirect: 'error' });
    const text = await readCapped(response);
    if (!response.ok) throw fail('SERVER_FAILED', `status ${response.status}: ${plainLine(text)}`);
    return text;
  } catch (error) {
    if (isTrituneError(error) || signal.aborted) throw error;
    if (error instanceof DOMException && error.name === 'TimeoutError')
      throw fail('SERVER_TIMEOUT', `no answer within ${formatDuration(TIMEOUT_MS / 1e3)}`);
    const { cause } = error as Error;
    throw fail('SERVER_UNREACHABLE', plainLine(formatMessage(cause ?? error)));
  }
}

const HINT = 'give the address of Prometheus, such as http://prometheus:9090';

/** Errors: SERVER_FAILED. */
function parseAnswer<T>(
  text: string,
  schema: z.ZodType<{ readonly data: { readonly result: readonly T[] } }>,
): readonly T[] {
  const refuse = (reason: string): never => {
    throw new TrituneError('SERVER_FAILED', `this is not an answer of Prometheus: ${plainLine(reason)}`, HINT);
  };
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return refuse(formatMessage(error));
  }
  const read = schema.safeParse(json);
  if (read.success) return read.data.data.result;
  return refuse(describeFaults(read.error.issues));
}

/** Errors: RangeError for an answer that is too long. */
async function readCapped({ body }: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body ?? []) {
    bytes += piece.length;
    if (bytes > MAX_ANSWER_BYTES) throw new RangeError('its answer is too long; ask for less (--since)');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}
