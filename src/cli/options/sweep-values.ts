import { TrituneError } from '#base/errors.ts';
import type { SweepRange } from '#profiler/sweep.ts';
import type { BurstSpec, RateRamp } from '#spec/profile-spec.ts';
import type { NumberRange } from '#spec/tune-options.ts';
import { positiveNumber, positiveWhole, wholeRange } from './option-values.ts';

/** Parsers of option texts in perf_analyzer's spelling. Errors: USAGE, with the expected form. */

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);

/** START[:END[:STEP]] of concurrencies; END 0 is no end. */
export const concurrencySweep = (text: string): SweepRange => parseSweep(text, positiveWhole, '1:16:2');

/** START[:END[:STEP]] of requests per second; END 0 is no end. */
export const rateSweep = (text: string): SweepRange => parseSweep(text, positiveNumber, '100:1000:100');

/** LOW:HIGH[:STEP] of whole numbers from 1. */
export function steppedRange(text: string): NumberRange & { readonly step?: number } {
  const [low = '', high = low, ...step] = text.split(':');
  const range = wholeRange([low, high].join(':'));
  if (step.length === 0) return range;
  return { ...range, step: positiveWhole(step.join(':')) };
}

function parseSweep(text: string, parse: (part: string) => number, example: string): SweepRange {
  const hint = `write START:END:STEP, for example ${example}; an END of 0 continues until the latency threshold`;
  const [startText = '', endText, stepText, ...rest] = text.split(':');
  if (rest.length > 0) throw usage(`'${text}' is not a range of load levels`, hint);
  const start = parse(startText);
  const end = endText === undefined ? start : /^0+(\.0*)?$/.test(endText) ? 0 : parse(endText);
  if (end !== 0 && end < start) throw usage(`'${text}' ends before it begins`, hint);
  return { start, end, step: stepText === undefined ? 1 : parse(stepText) };
}

/** A limit, because all arrivals are planned before the first request is sent. */
const MAX_REQUESTS = 1e8;

/** FROM:TO:SECONDS; one of the rates may be 0. */
export function rateRamp(text: string): RateRamp {
  const match = /^([\d.]+):([\d.]+):([\d.]+)s?$/.exec(text);
  const [fromPerSecond, toPerSecond, overS] = (match?.slice(1) ?? []).map(Number) as [number, number, number];
  const requests = ((fromPerSecond + toPerSecond) / 2) * overS;
  if (requests > MAX_REQUESTS) throw usage(`'${text}' is more than ${MAX_REQUESTS} requests`, 'make it shorter');
  if (match && requests > 0) return { fromPerSecond, toPerSecond, overS };
  throw usage(`'${text}' is not a ramp`, 'write FROM:TO:SECONDS in requests per second, for example 100:2000:30');
}

/** SIZE:PERIOD with the period in milliseconds. */
export function burstShape(text: string): BurstSpec {
  const match = /^(\d+):([\d.]+)(?:ms)?$/.exec(text);
  const [size, periodMs] = (match?.slice(1) ?? []).map(Number) as [number, number];
  if (match && size > 0 && size <= MAX_REQUESTS && periodMs > 0 && periodMs < Infinity) return { size, periodMs };
  throw usage(`'${text}' is not a burst`, 'write SIZE:MILLISECONDS, for example 50:200');
}

/** A percentile as in perf_analyzer, with decimals; -1 means the average. */
export function percentileOrNone(text: string): number {
  if (text === '-1') return -1;
  const value = positiveNumber(text.replace(/^p/, ''));
  if (value >= 1 && value <= 99.99) return value;
  throw usage(`'${text}' is not a percentile`, 'give 1 to 99.99, or -1 for the average');
}

/** START[:END] of sequence ids; the end defaults to the largest possible id. */
export function sequenceIdRange(text: string): { readonly low: number; readonly high: number } {
  const [low = '', high, ...rest] = text.split(':');
  const range = { low: positiveWhole(low), high: high === undefined ? 2 ** 32 - 1 : positiveWhole(high) };
  if (rest.length === 0 && range.low <= range.high) return range;
  throw usage(`'${text}' is not a range of sequence ids`, 'write START:END, for example 1:1000');
}

/** Comma-separated numbers. */
export function wholeList(text: string): readonly number[] {
  return text.split(',').map((part) => positiveWhole(part.trim()));
}
