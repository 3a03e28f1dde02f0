import { TrituneError } from '../base/errors.ts';
import type { FailureKind } from '../study/types.ts';

/** The reasons for which a server may refuse a candidate. */
export type RefusalKind = Extract<
  FailureKind,
  'invalid-config' | 'out-of-memory' | 'no-gpu' | 'init-failed' | 'build-failed' | 'upload-refused' | 'inaccurate'
>;

/** The server refuses the candidate, which ends the trial but not the study. Thrown by an adapter's `apply`. */
export class CandidateRefusedError extends TrituneError {
  override readonly name = 'CandidateRefusedError';
  readonly kind: RefusalKind;
  /** The server's own words. */
  readonly serverMessage: string;

  /** `message` and `hint` are for applying a single candidate; a study reports the server's own words. */
  constructor(
    kind: RefusalKind,
    serverMessage: string,
    { message = `the server refused it: ${serverMessage}`, hint = 'try another candidate', cause }: RefusalWords = {},
  ) {
    super('LOAD_REFUSED', message, hint, { cause });
    this.kind = kind;
    this.serverMessage = serverMessage;
  }
}

interface RefusalWords {
  readonly message?: string;
  readonly hint?: string;
  readonly cause?: unknown;
}
