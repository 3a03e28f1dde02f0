import { exitCodes } from '#app/exit-codes.ts';
import { formatMessage, internalError, type TrituneError } from '#base/errors.ts';

export interface Interrupts {
  readonly signal: AbortSignal;
  /** Call after the run has ended. Errors: INTERNAL if a defect of ours ended it. */
  check(): void;
  /** Acts like a signal of that name. */
  raise(name: string): void;
  /** Stops listening. */
  release(): void;
}

/**
 * Turns SIGINT, SIGTERM, SIGHUP and SIGQUIT into an abort. The run then ends in order, as
 * `firstWords` says, and a tuning run restores the model. A second one of them ends the process at
 * once; `lastWords` says what that leaves behind. An uncaught error acts like a signal: it must not
 * end the process with a changed model.
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
    // Later errors follow from the first, or from the end of the run.
    if (fault !== null) return;
    fault = internalError(error);
    tell(`tritune: INTERNAL: ${formatMessage(error)}: ${firstWords}`);
    controller.abort(fault);
  };
  const names: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];
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
