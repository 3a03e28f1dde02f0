import { z } from 'zod';
import type { ReadOnly } from '#base/read-only.ts';
import { openObject, text } from '#base/schema.ts';
import { mode } from '#profiler/figure-schemas.ts';
import type { LevelReport } from '#profiler/level-report.ts';
import { machineSchema } from '#profiler/machine.ts';
import { measurement } from '#profiler/measurement.ts';

/** A level of it. */
export const profileLevel = measurement.extend({
  withinLatencyThreshold: z.boolean().describe('whether it was within `--latency-threshold`; true without one'),
});

/** The form of `profile --json`. */
export const profileSchema = openObject({
  schemaVersion: z.literal(1).describe('version of the format'),
  trituneVersion: text.describe('version of tritune that wrote the file'),
  model: text.describe('the model'),
  modelVersion: text.describe('its version'),
  server: openObject({
    name: text.describe('as the server calls itself'),
    version: text.describe('its version'),
    url: text.describe('HOST:PORT of the requests'),
    emulated: text.nullable().describe("profile of tritune's emulator; null for a real server"),
    machine: machineSchema.optional().describe('what the figures were measured on'),
  }).describe('the server'),
  protocol: z.enum(['grpc', 'http']).describe('protocol of the requests'),
  endpoint: text.optional().describe('how a language model was called'),
  batch: z.number().describe('samples in one request'),
  mode,
  stability: text.describe('rule by which a level was measured long enough'),
  commandLine: z.array(text).describe('the command line'),
  assumptions: z
    .array(text)
    .optional()
    .describe('what was made up for the requests, and so is measured; absent if nothing was'),
  levels: z.array(profileLevel).describe('the measurements, in the order of their levels'),
}).describe('What tritune profile measured');

/** What was profiled, and how. */
export type ProfileHead = ReadOnly<Omit<z.output<typeof profileSchema>, 'levels'>>;

type MeasuredLevel = Pick<LevelReport, 'measurement' | 'isWithinLimit'>;

/**
 * Returns one level: whether it was within the limit, and the whole measurement. Latencies in
 * milliseconds.
 */
export const levelJson = ({
  measurement: figures,
  isWithinLimit,
}: MeasuredLevel): ReadOnly<z.output<typeof profileLevel>> => ({
  withinLatencyThreshold: isWithinLimit,
  ...figures,
});

/** Returns the whole run as one document. */
export const profileJson = (
  head: ProfileHead,
  reports: readonly MeasuredLevel[],
): ReadOnly<z.output<typeof profileSchema>> => ({ ...head, levels: reports.map(levelJson) });
