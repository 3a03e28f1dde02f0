import { internalError, messageOf, type TrituneError } from '../base/errors.ts';
import { exitCodes } from './exit-codes.ts';

export interface Interrupts {
  readonly signal: AbortSignal;
  /** Once the run has ended. Errors: INTERNAL when it was a defect of ours that ended it. */
  check(): void;
  /** As a signal of that name does. */
  raise(name: string): void;
  /** Stops listening. */
  release(): void;
}

/**
 * Turns SIGINT, SIGTERM and SIGHUP into an abort: the run then ends in order, which `firstWords` says; a run that tunes puts
 * the model back. A second SIGINT or SIGTERM ends the process at once; `lastWords` says what that leaves behind. What is thrown
 * where nobody catches it is like a signal: it must not end the process with a model that is not as it was.
 */
export function listenForInterrupts(
  tell: (line: string) => void,
  lastWords: () => string,
  firstWords = 'stopping, and putting the model back',
): Interrupts {
  const controller = new AbortController();
  const onSignal = (name: string): void => {
    if (controller.signal.aborted) {
      tell(`tritune: ${name} again: ${lastWords()}`);
      process.exit(exitCodes.interrupted);
    }
    tell(`tritune: ${name}: ${firstWords}; interrupt again to stop at once`);
    controller.abort(name);
  };
  let fault: TrituneError | null = null;
  const onFault = (error: unknown): void => {
    // What comes after the first follows from it, or from the end of the run.
    if (fault !== null) return;
    fault = internalError(error);
    tell(`tritune: INTERNAL: ${messageOf(error)}: ${firstWords}`);
    controller.abort(fault);
  };
  const names: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const name of names) process.on(name, onSignal);
  process.on('uncaughtException', onFault);
  return {
    signal: controller.signal,
    check: () => {
      if (fault) throw fault;
    },
    raise: onSignal,
    release: () => {
      for (const name of names) process.off(name, onSignal);
      process.off('uncaughtException', onFault);
    },
  };
}
