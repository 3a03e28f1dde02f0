import { formatMessage, TrituneError } from '#base/errors.ts';
import { fileLimits, readText } from '#base/read-file.ts';
import { NS_PER_MS, NS_PER_US } from '#base/units.ts';

/** A year: no run waits longer, and a number of nanoseconds can still hold it. */
const MAX_MS = 366 * 24 * 3600e3;

/**
 * Returns the times between requests in nanoseconds, from a file with microseconds, one per line.
 * Errors: INPUT_INVALID with the line.
 */
export async function readIntervals(path: string): Promise<readonly number[]> {
  return (await readNumbers(path, 'microseconds')).map((us) => us * NS_PER_US);
}

/**
 * Returns the arrival times of requests in nanoseconds, from a file with milliseconds, one per
 * line. Errors: INPUT_INVALID with the line.
 */
export async function readArrivals(path: string): Promise<readonly number[]> {
  return (await readNumbers(path, 'milliseconds')).map((ms) => ms * NS_PER_MS);
}

/**
 * Returns the `"timestamp": [milliseconds]` of every step of a JSON data file with one stream, in
 * nanoseconds. Errors: INPUT_INVALID with the step.
 */
export async function readTimestamps(path: string): Promise<readonly number[]> {
  let root: unknown;
  try {
    root = JSON.parse(await readText(path, fileLimits.inputData));
  } catch (error) {
    throw invalid(path, `it cannot be read: ${formatMessage(error)}`, 'give a JSON data file');
  }
  const steps = (root as { readonly data?: unknown } | null)?.data;
  if (!Array.isArray(steps) || steps.length === 0) {
    throw invalid(path, 'it has no "data" with steps', 'write {"data": [{"timestamp": [0], "INPUT": […]}, …]}');
  }
  return steps.map((step: unknown, index) => {
    const stamp = (step as { readonly timestamp?: unknown } | null)?.timestamp;
    const ms: unknown = Array.isArray(stamp) ? stamp[0] : stamp;
    if (typeof ms === 'number' && ms >= 0 && ms <= MAX_MS) return ms * NS_PER_MS;
    throw invalid(path, `step ${index} has no "timestamp"`, 'give each step the time at which it is due, in ms');
  });
}

/** Skips empty lines and everything after a #. */
async function readNumbers(path: string, unit: string): Promise<readonly number[]> {
  const text = await readText(path, fileLimits.inputData).catch((error: unknown) => {
    throw invalid(
      path,
      `it cannot be read: ${formatMessage(error)}`,
      `give a file with ${unit}, one number on each line`,
    );
  });
  return text.split('\n').flatMap((line, index) => {
    const content = line.replace(/#.*/, '').trim();
    if (content === '') return [];
    const value = Number(content);
    if (value >= 0 && value <= MAX_MS) return [value];
    throw invalid(path, `line ${index + 1} is not a number of ${unit}`, 'write one number of 0 or more on each line');
  });
}

const invalid = (path: string, what: string, hint: string): TrituneError =>
  new TrituneError('INPUT_INVALID', `${path}: ${what}`, hint);
