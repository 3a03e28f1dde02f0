import { exitCodes } from './exit-codes.ts';

export interface Interrupts {
  readonly signal: AbortSignal;
  /** As a signal of that name does. */
  raise(name: string): void;
  /** Stops listening. */
  release(): void;
}

/**
 * Turns SIGINT, SIGTERM and SIGHUP into an abort: the run then ends in order, which `firstWords` says; a run that tunes puts
 * the model back. A second SIGINT or SIGTERM ends the process at once; `lastWords` says what that leaves behind.
 */
export function listenForInterrupts(
  tell: (line: string) => void,
  lastWords: () => string,
  firstWords = 'stopping and restoring the model',
): Interrupts {
  const controller = new AbortController();
  const onSignal = (name: string): void => {
    if (controller.signal.aborted) {
      tell(`tritune: ${name} again: ${lastWords()}`);
      process.exit(exitCodes.interrupted);
    }
    tell(`tritune: ${name}: ${firstWords}; once more to stop at once`);
    controller.abort(name);
  };
  const names: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const name of names) process.on(name, onSignal);
  return {
    signal: controller.signal,
    raise: onSignal,
    release: () => {
      for (const name of names) process.off(name, onSignal);
    },
  };
}
