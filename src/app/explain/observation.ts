import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { TrituneError } from '#base/errors.ts';
import type { JsonObject } from '#base/json.ts';
import { writeIn } from '#base/run-files.ts';
import { createJsonObject, openObject, text } from '#base/schema.ts';
import type { CounterReading } from '#explain/readings.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { ConfigValueError, normaliseConfig } from '#triton/config/normal-form.ts';
import { readJsonFile } from './read-json.ts';

/** What was read of a server, as `explain --save` keeps it. */
export interface ObservedServer {
  readonly at: string;
  readonly server: { readonly name: string; readonly version: string; readonly url: string };
  readonly configs: ReadonlyMap<string, ModelConfig>;
  /** At least two, rising in time. */
  readonly readings: readonly CounterReading[];
}

const FILE = 'observation.json';

const counter = z.number().nonnegative();
const duration = z.object({ count: counter, ns: counter });
const statistics = z.object({
  name: z.string(),
  version: z.string(),
  lastInferenceMs: counter,
  inferenceCount: counter,
  executionCount: counter,
  success: duration,
  fail: duration,
  queue: duration,
  computeInput: duration,
  computeInfer: duration,
  computeOutput: duration,
  cacheHit: duration,
  cacheMiss: duration,
  batchStats: z.array(
    z.object({ batchSize: counter, computeInput: duration, computeInfer: duration, computeOutput: duration }),
  ),
  memoryUsage: z.array(z.object({ type: z.string(), id: z.number(), byteSize: z.number() })),
});

const schema = z.object({
  schemaVersion: z.literal(1),
  at: text,
  server: openObject({ name: text, version: text, url: text }),
  configs: z.record(text, createJsonObject<JsonObject>()),
  readings: z.array(z.object({ atNs: z.number(), statistics: z.array(statistics) })).min(2),
});

/** Writes what was read into a directory. Returns the file. Errors: OUTPUT_UNWRITABLE. */
export function saveObservation(directory: string, observation: ObservedServer): Promise<string> {
  const { at, server, configs, readings } = observation;
  const document: z.input<typeof schema> = {
    schemaVersion: 1,
    at,
    server,
    configs: Object.fromEntries(configs) as Record<string, JsonObject>,
    readings: readings.map(({ atNs, statistics: each }) => ({
      atNs,
      statistics: each.map((one) => ({ ...one, batchStats: [...one.batchStats], memoryUsage: [...one.memoryUsage] })),
    })),
  };
  return writeIn(directory, [FILE], `${JSON.stringify(document)}\n`);
}

/** Returns whether `--save` kept readings in the directory. */
export const hasObservation = (directory: string): Promise<boolean> =>
  access(join(directory, FILE)).then(
    () => true,
    () => false,
  );

/** Reads what `--save` kept. Errors: INPUT_INVALID. */
export async function readObservation(directory: string): Promise<ObservedServer> {
  const path = join(directory, FILE);
  const hint = 'give a directory that explain --save wrote';
  const refuse = (reason: string): never => {
    throw new TrituneError('INPUT_INVALID', `${path}: ${reason}`, hint);
  };
  const { at, server, configs, readings } = await readJsonFile(path, schema, hint);
  const rises = readings.every(({ atNs }, index) => index === 0 || atNs > (readings[index - 1]?.atNs ?? 0));
  if (!rises) return refuse('the times of its readings do not rise');
  return {
    at,
    server,
    configs: new Map(
      Object.entries(configs).map(([name, config]) => [
        name,
        toModelConfig(config, (reason) => refuse(`configs.${name}: ${reason}`)),
      ]),
    ),
    readings,
  };
}

/** Returns a config in normal form, or what `refuse` does with the reason why it is none. */
export function toModelConfig(config: JsonObject, refuse: (reason: string) => never): ModelConfig {
  try {
    return normaliseConfig(config);
  } catch (error) {
    if (!(error instanceof ConfigValueError)) throw error;
    return refuse(`${error.path || 'the whole'}: ${error.reason}`);
  }
}
