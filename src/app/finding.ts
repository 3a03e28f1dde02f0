import { errorLine } from '#base/error-line.ts';
import { type ErrorCode, isTrituneError } from '#base/errors.ts';

/**
 * One result of an examination. `code`: the error that a run would end with; null if a run would
 * not fail.
 */
export interface Finding {
  readonly state: 'ok' | 'note' | 'bad';
  readonly about: string;
  readonly text: string;
  readonly code: ErrorCode | null;
}

export const ok = (about: string, text: string): Finding => ({ state: 'ok', about, text, code: null });

export const note = (about: string, text: string): Finding => ({ state: 'note', about, text, code: null });

/** Returns the finding for a fault that would end a run with this code. */
export const bad = (about: string, text: string, code: ErrorCode): Finding => ({ state: 'bad', about, text, code });

/** Returns the finding for an error. */
export const failed = (about: string, error: unknown): Finding =>
  bad(about, errorLine(error), isTrituneError(error) ? error.code : 'INTERNAL');
