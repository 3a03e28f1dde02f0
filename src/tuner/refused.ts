import { TrituneError } from '#base/errors.ts';
import type { FailureKind } from '#study/types.ts';

/** Kinds of refusal of a candidate by a server. */
export type RefusalKind = Extract<
  FailureKind,
  'invalid-config' | 'out-of-memory' | 'no-gpu' | 'init-failed' | 'build-failed' | 'upload-refused' | 'inaccurate'
>;

/**
 * Thrown by an adapter's `apply` if the server refuses the candidate. It ends the trial, not the
 * study.
 */
export class CandidateRefusedError extends TrituneError {
  override readonly name = 'CandidateRefusedError';
  readonly kind: RefusalKind;
  /** The server's message. */
  readonly serverMessage: string;

  /**
   * `message` and `hint` are for a user who applies a single candidate; a study reports the
   * server's message.
   */
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
