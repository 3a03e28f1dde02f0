import { interrupted, throwIfInterrupted } from '#base/abort.ts';
import { isTrituneError, TrituneError } from '#base/errors.ts';
import { nsToMs } from '#base/units.ts';
import type { TrialFailure } from '#study/types.ts';
import { CandidateRefusedError } from './refused.ts';
import type { Run } from './run.ts';

/** The longest outage of a server; its supervisor restarts it within some seconds. */
const DEFAULT_OUTAGE_MS = 20_000;
const LONGEST_LOOK_MS = 2_000;
/**
 * The delay of the first check after each loss: a server that is going down may answer for a
 * moment. The number of delays is the number of times that one piece of work is restarted; if the
 * server goes away each time, the work is assumed to be the cause.
 */
const FIRST_LOOKS_MS = [250, 2_000];

/**
 * Returns the trial's failure for an error; null if the error is no verdict on the candidate and
 * ends the run.
 */
export function toFailure(error: unknown, step: 'apply' | 'measure'): TrialFailure | null {
  if (error instanceof CandidateRefusedError) return { kind: error.kind, reason: error.serverMessage.trim() };
  if (!isTrituneError(error)) return null;
  switch (error.code) {
    case 'CONFIG_MISMATCH':
      return { kind: 'config-mismatch', reason: error.message };
    case 'SERVER_TIMEOUT':
    case 'MODEL_UNREADY':
      return { kind: step === 'apply' ? 'load-timeout' : 'requests-failed', reason: error.message };
    // The model existed when the run began: its directory is gone, or is just being replaced.
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
 * Returns the work's outcome. If the server, or a sending agent, goes away during the work, waits
 * until it is back and restarts the work, with `again`. Errors: SERVER_UNREACHABLE for a server
 * that stays away; SERVER_FAILED for one that goes away every time; the work's own.
 */
export async function outlasting<T>(run: Run, work: () => Promise<T>, again: () => Promise<T> = work): Promise<T> {
  for (let returns = 0; ; returns++) {
    throwIfInterrupted(run.signal);
    try {
      return await (returns === 0 ? work() : again());
    } catch (error) {
      if (run.signal.aborted) throw interrupted(run.signal);
      // An agent's return is awaited when the agent is needed again.
      const isAgent = isTrituneError(error, 'AGENT_FAILED');
      if (!isTrituneError(error, 'SERVER_UNREACHABLE', 'AGENT_FAILED')) throw error;
      const firstLookMs = FIRST_LOOKS_MS[returns];
      if (firstLookMs === undefined) throw isAgent ? error : wentAway(returns + 1, error);
      if (!(await isBack(run, firstLookMs, error.message))) throw error;
    }
  }
}

/** Waits for the server up to the longest allowed outage. Errors: INTERRUPTED. */
async function isBack(
  { parts: { clock, adapter }, plan, signal, recorder }: Run,
  firstLookMs: number,
  reason: string,
): Promise<boolean> {
  const { maxOutageMs = DEFAULT_OUTAGE_MS } = plan;
  recorder.notify({ type: 'server-away', reason, limitMs: maxOutageMs });
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
