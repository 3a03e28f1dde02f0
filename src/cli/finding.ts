import type { ErrorCode } from '../base/errors.ts';
import { exitCodeFor, exitCodes } from './exit-codes.ts';
import { failureOf } from './failure.ts';

/** What an examination found of one thing. `exitCode` is that of a run that would meet it; `done` for what harms none. */
export interface Finding {
  readonly state: 'ok' | 'note' | 'bad';
  readonly about: string;
  readonly text: string;
  readonly exitCode: number;
}

export const ok = (about: string, text: string): Finding => ({ state: 'ok', about, text, exitCode: exitCodes.done });
export const note = (about: string, text: string): Finding => ({
  state: 'note',
  about,
  text,
  exitCode: exitCodes.done,
});

/** What a run would end with this code for. */
export const bad = (about: string, text: string, code: ErrorCode): Finding => ({
  state: 'bad',
  about,
  text,
  exitCode: exitCodeFor(code),
});

export function failed(about: string, error: unknown): Finding {
  const { line, exitCode } = failureOf(error, false);
  return { state: 'bad', about, text: (line ?? '').replace(/^tritune: /, ''), exitCode };
}
