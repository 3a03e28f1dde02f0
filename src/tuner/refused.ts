import { TrituneError } from '../base/errors.ts';
import type { FailureKind } from '../study/types.ts';

/** What a server may say no to a candidate with. */
export type RefusalKind = Extract<
  FailureKind,
  'invalid-config' | 'out-of-memory' | 'no-gpu' | 'init-failed' | 'build-failed' | 'upload-refused' | 'inaccurate'
>;

/** The server does not take the candidate: a verdict on it, which ends its trial and not the study. Thrown by an adapter's `apply`. */
export class CandidateRefusedError extends TrituneError {
  override readonly name = 'CandidateRefusedError';
  readonly kind: RefusalKind;
  /** The server's own words. */
  readonly serverMessage: string;

  /** `message` and `hint` are for who applies a single candidate; a study tells the server's own words. */
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
