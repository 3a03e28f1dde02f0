import type { ErrorCode } from '#base/errors.ts';
import type { StudyOutcome } from './study/watch.ts';

/** The contract of the process's exit codes, which are chosen only here. */
export const exitCodes = {
  done: 0,
  internal: 1,
  usage: 2,
  infeasible: 3,
  server: 4,
  regression: 5,
  inconclusive: 6,
  interrupted: 130,
} as const;

export type ExitCodeName = keyof typeof exitCodes;

/** The meaning of each exit code, for the reference. */
export const exitCodeMeanings: Readonly<Record<ExitCodeName, string>> = {
  done: 'the command did what it was asked to',
  internal: 'a defect of tritune',
  usage: 'an option, a file or the output directory is wrong, or another run works on the model',
  infeasible: 'nothing met the constraints; `capacity`: no rate keeps the limit',
  server:
    'the server could not be reached, failed or was used by others; `profile`: most requests failed at every level',
  regression: '`compare`: a metric is worse than the baseline, by intervals',
  inconclusive: '`compare`: the measurements are too imprecise to rule out a regression',
  interrupted: 'the run was interrupted; what was finished is kept and reported',
};

const byError: Readonly<Record<ErrorCode, number>> = {
  USAGE: exitCodes.usage,
  UNSUPPORTED: exitCodes.usage,
  SPACE_INVALID: exitCodes.usage,
  CONFIG_INVALID: exitCodes.usage,
  PROFILE_INVALID: exitCodes.usage,
  INPUT_INVALID: exitCodes.usage,
  OUTPUT_UNWRITABLE: exitCodes.usage,
  OUTPUT_LOCKED: exitCodes.usage,
  OUTPUT_EXISTS: exitCodes.usage,
  JOURNAL_INVALID: exitCodes.usage,
  RUN_UNTRUSTED: exitCodes.usage,
  RECORD_INVALID: exitCodes.server,
  MODEL_UNKNOWN: exitCodes.usage,
  MODEL_LOCKED: exitCodes.usage,
  MODEL_LEFT_CHANGED: exitCodes.usage,
  MODEL_UNREADY: exitCodes.server,
  SERVER_UNREACHABLE: exitCodes.server,
  SERVER_TIMEOUT: exitCodes.server,
  SERVER_FAILED: exitCodes.server,
  CONTROL_DISABLED: exitCodes.server,
  LOAD_REFUSED: exitCodes.server,
  CONFIG_MISMATCH: exitCodes.server,
  FOREIGN_TRAFFIC: exitCodes.server,
  CLIENT_FAILED: exitCodes.internal,
  AGENT_FAILED: exitCodes.server,
  LAUNCH_FAILED: exitCodes.server,
  INSTALL_FAILED: exitCodes.server,
  RESTORE_FAILED: exitCodes.server,
  INFEASIBLE: exitCodes.infeasible,
  REGRESSION: exitCodes.regression,
  INTERRUPTED: exitCodes.interrupted,
  INTERNAL: exitCodes.internal,
};

/** Exit codes by name, the most urgent first. A process with several runs exits with the worst. */
export const worstFirst: readonly ExitCodeName[] = [
  ...(['interrupted', 'internal', 'server', 'usage', 'regression', 'inconclusive', 'infeasible', 'done'] as const),
];

export function worstExitCode(codes: readonly number[]): number {
  const worst = worstFirst.find((name) => codes.includes(exitCodes[name])) ?? 'done';
  return exitCodes[worst];
}

export function exitCodeFor(code: ErrorCode): number {
  return byError[code];
}

/** Returns the exit code of a study from its outcome, or from the error that ended it. */
export const toExitCode = (outcome: StudyOutcome | ErrorCode): number =>
  outcome === 'done' || outcome === 'infeasible' || outcome === 'interrupted'
    ? exitCodes[outcome]
    : exitCodeFor(outcome);
