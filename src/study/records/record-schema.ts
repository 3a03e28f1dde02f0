import { z } from 'zod';
import { isTrituneError } from '#base/errors.ts';
import type { JsonObject } from '#base/json.ts';
import { builtInMetrics, type Metrics } from '../goal/metrics/registry.ts';
import type { Goal } from '../types.ts';
import { migrated } from './migrate.ts';
import { record } from './record-kinds.ts';
import type { StudyRecord } from './records.ts';

/**
 * Returns the JSON Schema (2020-12) of a line of the journal: the content of
 * docs/journal.schema.json.
 */
export const recordJsonSchema = (): JsonObject =>
  z.toJSONSchema(record, { io: 'input', unrepresentable: 'any' }) as JsonObject;

/**
 * Returns the value as a record of this version, or what is wrong with it. Fields unknown to this
 * version are kept. `metrics` defines the names in goals, and goes with each goal; a name that it
 * lacks is a fault.
 */
export function checkRecord(
  value: unknown,
  metrics: Metrics = builtInMetrics,
): { readonly record: StudyRecord } | { readonly fault: string } {
  const current = inThisForm(value);
  if ('fault' in current) return current;
  const outcome = record.safeParse(current.value);
  if (outcome.success) return withMetrics(outcome.data, metrics);
  const issue = outcome.error.issues[0];
  return { fault: issue ? `${issue.path.join('.') || 'record'}: ${issue.message}` : 'not a record' };
}

function inThisForm(value: unknown): { readonly value: unknown } | { readonly fault: string } {
  try {
    return { value: migrated(value) };
  } catch (error) {
    if (isTrituneError(error, 'USAGE')) return { fault: error.message };
    throw error;
  }
}

function withMetrics(
  read: StudyRecord,
  metrics: Metrics,
): { readonly record: StudyRecord } | { readonly fault: string } {
  if (read.type !== 'study-started' && read.type !== 'goal-changed') return { record: read };
  // A registry holds functions: a field of that name in a file is none.
  const { metrics: _, ...goal } = read.goal;
  const unknown = namesIn(goal).find((name) => !metrics.has(name));
  if (unknown !== undefined) return { fault: `goal: '${unknown}' is none of the metrics ${metrics.names.join(', ')}` };
  return { record: { ...read, goal: metrics === builtInMetrics ? goal : { ...goal, metrics } } };
}

const namesIn = ({ objectives, constraints }: Goal): readonly string[] =>
  [...objectives, ...constraints].map(({ metric }) => metric);
