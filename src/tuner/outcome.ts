import { interrupted, throwIfInterrupted } from '../base/abort.ts';
import { isTrituneError, messageOf, TrituneError } from '../base/errors.ts';
import type { TrialFailure } from '../study/types.ts';
import { LoadRefusedError } from '../triton/load-refused.ts';
import type { Run } from './run.ts';

/** Milliseconds between attempts to reach a server that is gone: a restart by its supervisor takes some seconds. */
const RETRY_AFTER_MS = [1_000, 5_000, 15_000];

/** The failure of this trial that an error stands for, or null when it is no verdict on the candidate and ends the run. */
export function failureOf(error: unknown, step: 'apply' | 'measure'): TrialFailure | null {
  if (error instanceof LoadRefusedError) return { kind: error.kind, reason: error.serverMessage.trim() };
  if (!isTrituneError(error)) return null;
  switch (error.code) {
    case 'CONFIG_MISMATCH':
      return { kind: 'config-mismatch', reason: error.message };
    case 'SERVER_TIMEOUT':
    case 'MODEL_UNREADY':
      return { kind: step === 'apply' ? 'load-timeout' : 'requests-failed', reason: error.message };
    case 'SERVER_FAILED':
      return { kind: 'requests-failed', reason: error.message };
    case 'SERVER_UNREACHABLE':
      return { kind: 'server-lost', reason: error.message };
    case 'UNSUPPORTED':
      return { kind: 'metric-missing', reason: error.message };
    default:
      return null;
  }
}

/** The work's outcome; when the server cannot be reached, tries again a few times after a while, from the second time on with `again`. */
export async function outlasting<T>(run: Run, work: () => Promise<T>, again: () => Promise<T> = work): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    throwIfInterrupted(run.signal);
    try {
      return await (attempt === 0 ? work() : again());
    } catch (error) {
      if (run.signal.aborted) throw interrupted(run.signal);
      const waitMs = RETRY_AFTER_MS[attempt];
      if (!isTrituneError(error, 'SERVER_UNREACHABLE') || waitMs === undefined) throw error;
      await run.parts.clock.sleep(waitMs, run.signal);
    }
  }
}

/** Any thrown thing as a coded error. */
export function coded(error: unknown): TrituneError {
  if (error instanceof TrituneError) return error;
  return new TrituneError('INTERNAL', messageOf(error), 'this is a defect of tritune: please report it', {
    cause: error,
  });
}
