import { CommanderError } from 'commander';
import { exitCodeFor, exitCodes } from '#app/exit-codes.ts';
import { errorLine, oneLine } from '#base/error-line.ts';
import { formatMessage, isTrituneError } from '#base/errors.ts';
import { withCommandName } from './typed-commands.ts';

/**
 * The meaning of a thrown value for the user: the line for stderr (null if already printed) and the
 * exit code.
 */
export interface Failure {
  readonly line: string | null;
  readonly exitCode: number;
}

/**
 * The single mapping from any thrown value to a line and an exit code. Shows a stack trace only
 * with `verbose`.
 */
export function toFailure(error: unknown, verbose: boolean): Failure {
  if (error instanceof CommanderError) {
    // Commander has printed its own message; --help and --version end with 0.
    return { line: null, exitCode: error.exitCode === 0 ? exitCodes.done : exitCodes.usage };
  }
  if (isTrituneError(error)) {
    return {
      line: withStack(`tritune: ${withCommandName(errorLine(error))}`, error, verbose),
      exitCode: exitCodeFor(error.code),
    };
  }
  return { line: withStack(`tritune: ${errorLine(error)}`, error, verbose), exitCode: exitCodes.internal };
}

function withStack(line: string, error: unknown, verbose: boolean): string {
  if (!verbose || !(error instanceof Error)) return line;
  const { cause } = error;
  const before = cause instanceof Error ? `\ncaused by ${oneLine(formatMessage(cause))}${formatFrames(cause)}` : '';
  return `${line}${formatFrames(error)}${before}`;
}

/** Returns the stack without the message, which may be foreign text with line breaks. */
function formatFrames({ stack = '', message }: Error): string {
  const at = stack.indexOf(message);
  const frames = at < 0 ? stack : stack.slice(at + message.length);
  return frames.replace(/^[^\n]*/, '').trimEnd();
}
