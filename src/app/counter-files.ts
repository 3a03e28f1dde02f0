import { stat } from 'node:fs/promises';
import { parse } from 'node:path';
import { z } from 'zod';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { fileLimits, readText } from '#base/read-file.ts';
import { MS_PER_S } from '#base/units.ts';
import { parsePrometheus, type ScrapedSample } from '#profiler/devices/prometheus.ts';
import type { CounterSeries } from '#workload/log-counters.ts';

/** Triton's request counters. Served and failed requests both count as arrivals. */
const COUNTERS: ReadonlySet<string> = new Set(['nv_inference_request_success', 'nv_inference_request_failure']);

const rangeAnswer = z.object({
  data: z.object({
    resultType: z.literal('matrix'),
    result: z.array(
      z.object({
        metric: z.record(z.string(), z.string()),
        values: z.array(z.tuple([z.number(), z.string()])),
      }),
    ),
  }),
});

/**
 * Returns the counters, by model, in replies of Prometheus' `/api/v1/query_range`. Errors:
 * INPUT_INVALID.
 */
export async function rangeCounters(paths: readonly string[]): Promise<readonly CounterSeries[]> {
  const series = await Promise.all(paths.map(async (path) => seriesIn(path, await readCounterText(path))));
  return series.flat();
}

function seriesIn(path: string, text: string): readonly CounterSeries[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalid(path, formatMessage(error), RANGE_HINT);
  }
  const checked = rangeAnswer.safeParse(value);
  if (!checked.success) {
    const [issue] = checked.error.issues;
    throw invalid(path, `${issue?.path.join('.')}: ${issue?.message}`, RANGE_HINT);
  }
  return checked.data.data.result
    .filter(({ metric: { __name__: name } }) => name === undefined || COUNTERS.has(name))
    .map(({ metric, values }) => ({
      name: formatName(metric),
      readings: values.map(([second, count]) => ({ second, count: Number(count) })),
    }));
}

const RANGE_HINT = "give Prometheus' answer of /api/v1/query_range to the query nv_inference_request_success";

/**
 * Returns the counters on a series of scraped pages, by model and version. Errors: INPUT_INVALID.
 */
export async function scrapedCounters(paths: readonly string[]): Promise<readonly CounterSeries[]> {
  const series = new Map<string, { readonly name: string; readonly readings: Map<number, number> }>();
  for (const path of paths) {
    for (const { name, labels, value, atMs } of await readMetricsPage(path)) {
      if (!COUNTERS.has(name)) continue;
      const key = `${name} ${JSON.stringify(Object.entries(labels).sort())}`;
      const counter = series.get(key) ?? { name: formatName(labels), readings: new Map<number, number>() };
      counter.readings.set(atMs / MS_PER_S, value);
      series.set(key, counter);
    }
  }
  return [...series.values()].map(({ name, readings }) => ({
    name,
    readings: [...readings].sort(([one], [other]) => one - other).map(([second, count]) => ({ second, count })),
  }));
}

/** The name of a page that `date +%s` gave. */
const UNIX_SECONDS = /^\d{10}(\.\d+)?$/;

/**
 * Returns the samples of a saved page of metrics. Their time is what the page says, else the file's
 * name if that is a number of seconds since 1970, else when the file was written. Errors:
 * INPUT_INVALID.
 */
export async function readMetricsPage(path: string): Promise<readonly ScrapedSample[]> {
  const samples = parsePrometheus(await readCounterText(path));
  const { name } = parse(path);
  const writtenMs = UNIX_SECONDS.test(name) ? Number(name) * MS_PER_S : (await stat(path)).mtimeMs;
  return samples.map((sample) => ({ ...sample, atMs: sample.atMs ?? writtenMs }));
}

const formatName = (labels: Readonly<Record<string, string>>): string => labels.model ?? 'default';

async function readCounterText(path: string): Promise<string> {
  return readText(path, fileLimits.results).catch((error: unknown) => {
    throw invalid(path, formatMessage(error), 'give the path of a file');
  });
}

const invalid = (path: string, why: string, hint: string): TrituneError =>
  new TrituneError('INPUT_INVALID', `cannot read ${path}: ${why}`, hint);
