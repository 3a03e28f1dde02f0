import { plainLine } from '../base/format.ts';
import type { LoadLevel } from '../loadgen/types.ts';
import type { Assignment } from '../space/types.ts';

/** The assignment on one line: `instances=2 max_batch_size=8`. */
export function describeAssignment(assignment: Assignment): string {
  const parts = Object.entries(assignment).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return parts.length === 0 ? 'the original config' : plainLine(parts.join(' '));
}

export const describeLevel = (level: LoadLevel): string =>
  level.mode === 'concurrency' ? `concurrency ${level.value}` : `${level.value} requests/s`;
