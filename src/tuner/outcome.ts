import { interrupted, throwIfInterrupted } from '../base/abort.ts';
import { isTrituneError, TrituneError } from '../base/errors.ts';
import { nsToMs } from '../base/units.ts';
import type { TrialFailure } from '../study/types.ts';
import { CandidateRefusedError } from './refused.ts';
import type { Run } from './run.ts';

/** So long a server may be away; its supervisor starts it again within some seconds. */
const DEFAULT_OUTAGE_MS = 20_000;
const LONGEST_LOOK_MS = 2_000;
/**
 * How long after each loss the first look is: a server that is going down may answer for a moment. One piece of work is
 * begun again so often; a server that goes away each time is taken to do so because of it.
 */
const FIRST_LOOKS_MS = [250, 2_000];

/** Returns the failure of this trial that an error stands for, or null when it is no verdict on the candidate and ends the run. */
export function failureOf(error: unknown, step: 'apply' | 'measure'): TrialFailure | null {
  if (error instanceof CandidateRefusedError) return { kind: error.kind, reason: error.serverMessage.trim() };
  if (!isTrituneError(error)) return null;
  switch (error.code) {
    case 'CONFIG_MISMATCH':
      return { kind: 'config-mismatch', reason: error.message };
    case 'SERVER_TIMEOUT':
    case 'MODEL_UNREADY':
      return { kind: step === 'apply' ? 'load-timeout' : 'requests-failed', reason: error.message };
    // The model was there when the run began: its directory is gone, or just being replaced.
    case 'MODEL_UNKNOWN':
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

/**
 * The work's outcome. When the server goes away in the middle of it, or an agent that sends, waits until it is back and restarts, with `again`.
 * Errors: SERVER_UNREACHABLE for a server that stays away; SERVER_FAILED for one that goes away every time; the work's own.
 */
export async function outlasting<T>(run: Run, work: () => Promise<T>, again: () => Promise<T> = work): Promise<T> {
  for (let returns = 0; ; returns++) {
    throwIfInterrupted(run.signal);
    try {
      return await (returns === 0 ? work() : again());
    } catch (error) {
      if (run.signal.aborted) throw interrupted(run.signal);
      // The agent's own return is waited for when it is needed again.
      const isAgent = isTrituneError(error, 'AGENT_FAILED');
      if (!isTrituneError(error, 'SERVER_UNREACHABLE', 'AGENT_FAILED')) throw error;
      const firstLookMs = FIRST_LOOKS_MS[returns];
      if (firstLookMs === undefined) throw isAgent ? error : wentAway(returns + 1, error);
      if (!(await isBack(run, firstLookMs))) throw error;
    }
  }
}

/** Waits for the server as long as it may be away. Errors: INTERRUPTED. */
async function isBack({ parts: { clock, adapter }, plan, signal }: Run, firstLookMs: number): Promise<boolean> {
  const { maxOutageMs = DEFAULT_OUTAGE_MS } = plan;
  const startNs = clock.nowNs();
  for (let waitMs = firstLookMs; ; waitMs = Math.min(2 * waitMs, LONGEST_LOOK_MS)) {
    const leftMs = maxOutageMs - nsToMs(clock.nowNs() - startNs);
    if (leftMs <= 0) return false;
    await clock.sleep(Math.min(waitMs, leftMs), signal);
    if (await adapter.isReachable(signal)) return true;
    throwIfInterrupted(signal);
  }
}

function wentAway(times: number, error: TrituneError): TrituneError {
  return new TrituneError(
    'SERVER_FAILED',
    `the server became unreachable ${times} times during the trial: ${error.message}`,
    'read its log: it may have run out of memory',
    { cause: error },
  );
}
