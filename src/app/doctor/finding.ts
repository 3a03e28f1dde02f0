import { errorLine } from '../../base/error-line.ts';
import { type ErrorCode, isTrituneError } from '../../base/errors.ts';

/** What an examination found of one thing. `code`: the error that a run would end with; null for what harms none. */
export interface Finding {
  readonly state: 'ok' | 'note' | 'bad';
  readonly about: string;
  readonly text: string;
  readonly code: ErrorCode | null;
}

export const ok = (about: string, text: string): Finding => ({ state: 'ok', about, text, code: null });

export const note = (about: string, text: string): Finding => ({ state: 'note', about, text, code: null });

/** A finding that a run would end with this code for. */
export const bad = (about: string, text: string, code: ErrorCode): Finding => ({ state: 'bad', about, text, code });

/** The finding of an error that the examination met. */
export const failed = (about: string, error: unknown): Finding =>
  bad(about, errorLine(error), isTrituneError(error) ? error.code : 'INTERNAL');
