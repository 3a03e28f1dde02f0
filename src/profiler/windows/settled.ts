import { mean, sampleVariance } from 'simple-statistics';
import { msToNs, NS_PER_S } from '#base/units.ts';
import type { Batch } from '#loadgen/recorder.ts';
import type { LevelOptions, WindowRule } from '../level-options.ts';
import { addSums } from './figures.ts';

/** A short slice of traffic. */
export interface Slice {
  /** Successful requests per second. */
  readonly rate: number;
  /** The 90th percentile of their latency, in nanoseconds. */
  readonly tailNs: number;
}

/** Slices to compare: the earlier half against the later. */
export const SETTLED_SLICES = 6;
/**
 * By chance the two halves differ by less than this many standard errors in nine of ten cases
 * (Student's t with 4 degrees of freedom). A larger difference, in the direction of a faster
 * server, is a trend.
 */
const TREND = 1.53;
const SLICE_PERCENTILE = 0.9;
/** Halves whose logarithms differ by less than this are alike, whatever their spread. */
const ALIKE = 0.02;

/** A server that keeps getting faster for longer than this is measured as it is. */
const MAX_SETTLING_MS = 6000;

/**
 * Watches a server after a load. `isOver` is true once the server has settled, and stays true.
 * After six seconds or `maxWarmUpMs` the server counts as settled, and it always does if nothing
 * was loaded. `batches`: those counted so far, the latest last.
 */
export function settlingAfterLoad(
  { isFresh = false, clock }: Pick<LevelOptions, 'isFresh' | 'clock'>,
  { maxWarmUpMs }: Pick<WindowRule, 'maxWarmUpMs'>,
): { isOver(batches: readonly Batch[]): boolean } {
  const endNs = clock.nowNs() + msToNs(Math.min(MAX_SETTLING_MS, maxWarmUpMs));
  let isDone = !isFresh;
  return {
    isOver(batches) {
      isDone ||= clock.nowNs() >= endNs || isSettled(listSlices(batches));
      return isDone;
    },
  };
}

/**
 * True if a server has stopped getting faster: over the last slices, neither the rate rises nor the
 * tail of the latency falls. Right after a full load the server unloads the previous copy of the
 * model, under load. Configs then served 5 to 30 % less than later, for 0.5 to 2.5 seconds, with a
 * p99 up to ten times as long in the first quarter of a second (28 loads of two models on Triton
 * 2.51).
 */
export function isSettled(slices: readonly Slice[]): boolean {
  if (slices.length < SETTLED_SLICES) return false;
  const last = slices.slice(-SETTLED_SLICES);
  if (last.some(({ rate, tailNs }) => rate <= 0 || tailNs <= 0)) return false;
  return !rises(last.map(({ rate }) => Math.log(rate))) && !rises(last.map(({ tailNs }) => -Math.log(tailNs)));
}

/** True if the later half is above the earlier one by more than chance explains (Welch's t). */
function rises(values: readonly number[]): boolean {
  const [earlier, later] = [values.slice(0, values.length / 2), values.slice(values.length / 2)];
  const difference = mean(later) - mean(earlier);
  if (difference <= ALIKE) return false;
  const error = Math.sqrt((sampleVariance([...earlier]) + sampleVariance([...later])) / earlier.length);
  return difference > TREND * error;
}

/** Divides the batches, the latest last, into slices of about the same length. */
export function listSlices(batches: readonly Batch[]): Slice[] {
  const each = Math.max(1, Math.floor(batches.length / SETTLED_SLICES));
  const parts = Array.from({ length: SETTLED_SLICES }, (_, at) =>
    batches.slice(Math.max(0, batches.length - (at + 1) * each), batches.length - at * each),
  );
  return parts.toReversed().flatMap((part) => (part.length === 0 ? [] : summarizeSlice(part)));
}

function summarizeSlice(part: readonly Batch[]): Slice {
  const lengthNs = part.reduce((total, { startNs, endNs }) => total + endNs - startNs, 0);
  const succeeded = part.reduce((total, batch) => total + batch.succeeded, 0);
  return { rate: succeeded / (lengthNs / NS_PER_S), tailNs: addSums(part).latencies.quantileNs(SLICE_PERCENTILE) };
}
