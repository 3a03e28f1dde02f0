import { readdir } from 'node:fs/promises';
import { join, parse } from 'node:path';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { plainLine } from '#base/format.ts';
import type { JsonObject } from '#base/json.ts';
import { createJsonObject } from '#base/schema.ts';
import { nsToMs } from '#base/units.ts';
import { toInstanceReadings, toScrapedCounters } from '#explain/prometheus-readings.ts';
import type { ScrapedSample } from '#profiler/devices/prometheus.ts';
import { readConfigFile } from '#triton/config/config-file.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { readMetricsPage } from '../counter-files.ts';
import { type ObservedServer, toModelConfig } from './observation.ts';
import { readJsonFile } from './read-json.ts';

const HINT =
  "give a directory that explain --save wrote, or one with pages of Triton's metrics (*.prom) and the configs of its models (MODEL.json or MODEL.pbtxt)";

/** More are not read: ten hours of a page each five seconds. */
const MAX_PAGES = 7200;
const MAX_SAMPLES = 4_000_000;
/** Samples of later times, after the year 5000, are left out; and of earlier ones, before 1970. */
const MAX_TIME_MS = 1e14;

/**
 * Reads a directory with saved pages of Triton's metrics, `*.prom`, and the configs of its models:
 * `MODEL.json`, as the server gives it, or `MODEL.pbtxt`. Errors: INPUT_INVALID, CONFIG_INVALID.
 */
export async function readSavedPages(directory: string): Promise<ObservedServer> {
  const refuse = (reason: string): never => {
    throw new TrituneError('INPUT_INVALID', `${directory}: ${plainLine(reason)}`, HINT);
  };
  const names = (await readdir(directory).catch((error: unknown) => refuse(formatMessage(error)))).sort();
  const pages = names.filter((name) => name.endsWith('.prom'));
  if (pages.length < 2) return refuse('it has neither an observation.json nor two pages of metrics');
  if (pages.length > MAX_PAGES) return refuse(`it has ${pages.length} pages; at most ${MAX_PAGES} are read`);
  const samples: ScrapedSample[] = [];
  for (const name of pages) {
    for (const sample of await readMetricsPage(join(directory, name)))
      if (sample.name.startsWith('nv_inference_') && sample.atMs >= 0 && sample.atMs <= MAX_TIME_MS)
        samples.push(sample);
    if (samples.length > MAX_SAMPLES)
      return refuse(`its pages have more than ${MAX_SAMPLES} counters; give it fewer pages`);
  }
  const [server] = toInstanceReadings(toScrapedCounters(samples));
  const { readings = [] } = server ?? {};
  if (readings.length < 2) return refuse('its pages have no counters of Triton at two times');
  const configs = new Map<string, ModelConfig>();
  for (const name of names) {
    const config = await readConfig(join(directory, name));
    if (config) configs.set(config.name ?? parse(name).name, config);
  }
  return {
    at: new Date(nsToMs(readings.at(-1)?.atNs ?? 0)).toISOString(),
    server: { name: 'triton', version: '', url: directory },
    configs,
    readings,
  };
}

/** Returns the config in a file; null for other files. */
async function readConfig(path: string): Promise<ModelConfig | null> {
  const refuse = (reason: string): never => {
    throw new TrituneError('INPUT_INVALID', `${path}: ${plainLine(reason)}`, HINT);
  };
  const { ext } = parse(path);
  if (ext === '.json') return toModelConfig(await readJsonFile(path, createJsonObject<JsonObject>(), HINT), refuse);
  if (ext !== '.pbtxt') return null;
  return (await readConfigFile(path)).config;
}
