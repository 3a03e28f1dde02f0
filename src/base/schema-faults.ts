import type { z } from 'zod';

/** The most faults that a message names. */
const MAX_FAULTS = 5;

/**
 * Returns all that a schema found wrong in a value, so that it can be mended at once: each fault
 * with its path, or `whole` for the value itself; five of them, and the number of the others.
 */
export const describeFaults = (issues: readonly z.core.$ZodIssue[], whole = ''): string =>
  joinFaults(
    issues.map(({ path, message }) =>
      [path.map(String).join('.') || whole, message].filter((part) => part !== '').join(': '),
    ),
  );

/** Joins descriptions of faults: five of them, and the number of the others. */
export function joinFaults(faults: readonly string[]): string {
  const more = faults.length > MAX_FAULTS ? `; and ${faults.length - MAX_FAULTS} more` : '';
  return `${faults.slice(0, MAX_FAULTS).join('; ')}${more}`;
}
