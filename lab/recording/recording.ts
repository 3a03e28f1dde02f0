import { z } from 'zod';
import { formatMessage, TrituneError } from '../../src/base/errors.ts';
import { fileLimits, readTextSync } from '../../src/base/read-file.ts';

const figure = z.number();
const text = z.string();
const json = z.looseObject({});
/**
 * The median of the readings and their relative range, (max − min) / median; 0 for a single one.
 */
const median = z.looseObject({ value: figure, spread: figure });

const point = z.looseObject({
  level: figure,
  readings: z.number().int().positive(),
  /** infer/s; low and high are the medians of the bounds of the readings' 95 % intervals. */
  throughput: median.extend({ low: figure, high: figure }),
  latencyMs: z.looseObject({ avg: figure, p50: figure, p90: figure, p95: figure, p99: figure, max: figure }),
  p99Spread: figure,
  /** The sum over all readings. */
  requests: figure,
  stable: z.boolean(),
  /** True if the load generator limited at least one reading. */
  clientBound: z.boolean(),
  errorRate: figure,
  /** Means over the readings, per request; null without server statistics. */
  server: z.nullable(
    z.looseObject({
      queueUs: figure,
      computeInputUs: figure,
      computeInferUs: figure,
      computeOutputUs: figure,
      overheadUs: figure,
      /** Batch size, executions in a reading, mean duration of one in microseconds. */
      batches: z.array(z.tuple([figure, figure, figure])),
    }),
  ),
});

const candidate = z.looseObject({
  fingerprint: text,
  /** Empty for the original config. */
  assignment: json,
  /** Differences from the original config: the new value by path; null for an absent field. */
  differs: json,
  /** Duration of each load call, in milliseconds. */
  loadsMs: z.looseObject({ full: z.array(figure), inPlace: z.array(figure) }),
  failure: z.nullable(z.object({ kind: text, reason: text })),
  points: z.array(point),
});

const schema = z.looseObject({
  schemaVersion: z.literal(2),
  name: text,
  model: text,
  /** Start of the recording, ISO 8601, UTC. */
  recordedAt: text,
  trituneVersion: text,
  server: z.looseObject({ name: text, version: text, protocol: text, emulated: z.nullable(text) }),
  /** The machine that tritune ran on; the server's too when `servedHere`. */
  machine: z.looseObject({ processor: text, cores: figure, memoryMiB: figure, system: text, servedHere: z.boolean() }),
  options: json,
  levels: z.looseObject({ mode: z.literal('concurrency'), values: z.array(figure).min(1) }),
  repeats: z.number().int().positive(),
  /** False while points are missing because the recording was interrupted. */
  complete: z.boolean(),
  originalConfig: json,
  /** The search space in its own vocabulary. */
  space: json,
  candidates: z.array(candidate).min(1),
});

/**
 * Every candidate of a search space at every load level, as measured on a server. Figures have five
 * digits.
 */
export type Recording = z.infer<typeof schema>;
export type RecordedCandidate = Recording['candidates'][number];
export type RecordedPoint = RecordedCandidate['points'][number];

/** True for a recording, complete or not. */
export const isRecording = (value: unknown): boolean => schema.safeParse(value).success;

/**
 * Checks a recording. Errors: INPUT_INVALID, with the path of the first fault, and for an
 * incomplete recording.
 */
export function checkRecording(value: unknown, file: string): Recording {
  const outcome = schema.safeParse(value);
  if (outcome.success && outcome.data.complete) return outcome.data;
  if (outcome.success) {
    const hint = 'complete it with tritune record --resume DIRECTORY';
    throw new TrituneError('INPUT_INVALID', `${file} is incomplete: its recording was interrupted`, hint);
  }
  const issue = outcome.error.issues[0];
  throw invalid(file, `${issue?.path.join('.')}: ${issue?.message}`);
}

/** Reads the JSON of a file. Errors: INPUT_INVALID. */
export function readGridFile(file: string): unknown {
  try {
    return JSON.parse(readTextSync(file, fileLimits.results));
  } catch (error) {
    throw invalid(file, formatMessage(error));
  }
}

/**
 * Returns the JSON text with one point per line, so that recordings can be compared line by line.
 */
export function formatText({ candidates, ...head }: Recording): string {
  const opening = JSON.stringify(head, null, 2).slice(0, -2);
  return `${opening},\n  "candidates": [\n${candidates.map(candidateText).join(',\n')}\n  ]\n}\n`;
}

function candidateText({ points, ...rest }: RecordedCandidate): string {
  const lines = points.map((each) => `\n      ${JSON.stringify(each)}`).join(',');
  return `    ${JSON.stringify(rest).slice(0, -1)},"points":[${lines}]}`;
}

const invalid = (file: string, fault: string): TrituneError =>
  new TrituneError('INPUT_INVALID', `${file} is not a recorded grid: ${fault}`, 'record one with tritune record');
