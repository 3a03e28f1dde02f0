/**
 * Stable codes of all refusals and failures, each with what happened. `src/app/exit-codes.ts` maps
 * each to an exit code; no other code does.
 */
export const errorCodes = {
  USAGE: 'an option or a combination of options that makes no sense',
  UNSUPPORTED: 'a known request that this version or this server cannot do',
  SPACE_INVALID: 'a search-space file that cannot be read or is wrong',
  CONFIG_INVALID: "a config.pbtxt or model config that cannot be read or breaks a rule of Triton's",
  PROFILE_INVALID: 'an emulator profile that cannot be read or is wrong',
  INPUT_INVALID: 'another file or value that cannot be read or is wrong',
  OUTPUT_UNWRITABLE: 'the output directory cannot be made or written',
  OUTPUT_LOCKED: 'another run is writing to the output directory',
  OUTPUT_EXISTS: 'the output directory already holds a study',
  JOURNAL_INVALID: 'a journal that is missing, damaged before its last line, or of another study',
  RUN_UNTRUSTED: 'a run directory that is not known as one of this user, and that would act on its journal',
  RECORD_INVALID: 'a value, mostly of a server or an adapter, with which the journal could not be read again',
  MODEL_UNKNOWN: 'the server has no such model',
  MODEL_LOCKED: 'another run changes the model',
  MODEL_LEFT_CHANGED: 'a run that was killed left the model changed',
  MODEL_UNREADY: 'the model exists but does not become ready',
  SERVER_UNREACHABLE: 'nothing answers at the address',
  SERVER_TIMEOUT: 'the server did not answer within the deadline of a call',
  SERVER_FAILED: 'the server answered with an error that is no verdict on a config',
  CONTROL_DISABLED: 'the server is not in explicit model-control mode',
  LOAD_REFUSED: 'the server refused to load a config; in a study that is the outcome of a trial',
  CONFIG_MISMATCH: 'the config read back from the server differs from the one sent',
  FOREIGN_TRAFFIC: 'others send requests to the model that is measured',
  CLIENT_FAILED: 'a thread of the load generator ended',
  AGENT_FAILED: 'an agent that sends load cannot be used, or was lost',
  LAUNCH_FAILED: 'a server that was started for the run did not come up',
  INSTALL_FAILED: 'fetching Triton from PyPI failed',
  RESTORE_FAILED: 'the model could not be restored',
  INFEASIBLE: 'nothing met the constraints',
  REGRESSION: 'a gate found a metric that is worse than the baseline',
  INTERRUPTED: 'a person or the system stopped the run',
  INTERNAL: 'a defect of tritune',
} as const;

export type ErrorCode = keyof typeof errorCodes;

/** A longer message has a foreign text in it that nobody reads to its end. */
const MAX_LETTERS = 4500;

const capped = (text: string): string => (text.length > MAX_LETTERS ? `${text.slice(0, MAX_LETTERS - 1)}…` : text);

/** An error for people: what happened (`message`) and what to do about it (`hint`). */
export class TrituneError extends Error {
  override readonly name: string = 'TrituneError';
  readonly code: ErrorCode;
  readonly hint: string;

  constructor(code: ErrorCode, message: string, hint: string, options?: { cause?: unknown }) {
    super(capped(message), options);
    this.code = code;
    this.hint = capped(hint);
  }
}

/** True for a TrituneError, with one of the given codes if any are given. */
export function isTrituneError(error: unknown, ...codes: ErrorCode[]): error is TrituneError {
  return error instanceof TrituneError && (codes.length === 0 || codes.includes(error.code));
}

/** Returns a thrown value as a TrituneError. Anything else is a bug in tritune: INTERNAL. */
export function asTrituneError(error: unknown): TrituneError {
  if (error instanceof TrituneError) return error;
  return internalError(error);
}

/** Returns an INTERNAL error caused by `error`. */
export function internalError(error: unknown): TrituneError {
  const hint = 'this is a defect of tritune: please report it';
  return new TrituneError('INTERNAL', formatMessage(error), hint, { cause: error });
}

/** Returns the message of a thrown value. */
export function formatMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
