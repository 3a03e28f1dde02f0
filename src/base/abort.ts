import { TrituneError } from './errors.ts';

/** Throws INTERRUPTED when the signal has aborted. */
export function throwIfInterrupted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw interrupted(signal);
}

/**
 * Lets the process see what arrived while it computed, such as a signal or a reply. Throws
 * INTERRUPTED when the signal has aborted by then. Long computations call it between their parts.
 */
export async function catchUp(signal?: AbortSignal): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  throwIfInterrupted(signal);
}

/** Returns the error for an aborted signal. */
export function interrupted(signal: AbortSignal): TrituneError {
  return new TrituneError('INTERRUPTED', 'the run was interrupted', 'continue it with --resume', {
    cause: signal.reason,
  });
}

/**
 * Returns the promise's value; rejects with `onTimeout()` after `ms`, or with INTERRUPTED when
 * `signal` aborts. The work behind the promise is not cancelled: pass it the signal too if it can
 * stop.
 */
export async function withDeadline<T>(
  promise: Promise<T>,
  ms: number,
  onTimeout: () => TrituneError,
  signal?: AbortSignal,
): Promise<T> {
  throwIfInterrupted(signal);
  let cleanUp = (): void => undefined;
  const limit = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => reject(onTimeout()), ms);
    const onAbort = (): void => reject(interrupted(signal as AbortSignal));
    signal?.addEventListener('abort', onAbort, { once: true });
    cleanUp = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
  });
  try {
    return await Promise.race([promise, limit]);
  } finally {
    cleanUp();
  }
}
