import { isRefusal } from '#loadgen/plain-http-refusal.ts';
import type { Measurement } from '#profiler/measurement.ts';

/** Replies over plain HTTP with the status of a fault, which no request wants. */
export interface Refusals {
  /** The share of all replies, above 0. */
  readonly share: number;
  /** Their statuses, ascending. */
  readonly statuses: readonly number[];
}

/** Returns the refusals of these measurements; null if there are none. */
export function refusalsIn(measurements: readonly Pick<Measurement, 'replies'>[]): Refusals | null {
  const replies = measurements.flatMap((measurement) => measurement.replies?.statuses ?? []);
  const refused = replies.filter(({ status }) => isRefusal(status));
  const sum = (of: typeof replies): number => of.reduce((total, { count }) => total + count, 0);
  if (refused.length === 0) return null;
  const statuses = [...new Set(refused.map(({ status }) => status))].sort((a, b) => a - b);
  return { share: sum(refused) / sum(replies), statuses };
}
