import { catchUp } from '#base/abort.ts';
import { TrituneError } from '#base/errors.ts';
import { MS_PER_S } from '#base/units.ts';
import { nextTrial, type StopReason } from './ask.ts';
import type { Planning, Run } from './run.ts';
import { refuseTrial, runTrial } from './trial.ts';
import { waitWhilePaused } from './user-commands.ts';

/**
 * The number of trials in a row that end the run if the server fails in each without a verdict on
 * the candidate.
 */
const MAX_SERVER_FAILURES = 3;
/**
 * The least change of the expected duration, because loads are faster than expected, that observers
 * are told.
 */
const WORTH_TELLING_SECONDS = 1;

/** Reports the run's time limit and its usual duration. */
export function tellLimits({ plan, recorder, time: { usualSeconds } }: Planning): void {
  const orNull = (limit: number): number | null => (Number.isFinite(limit) ? limit : null);
  const [maxTrials, timeBudgetSeconds] = [orNull(plan.maxTrials), orNull(plan.timeBudgetMs / MS_PER_S)];
  recorder.notify({ type: 'limits', maxTrials, timeBudgetSeconds, usualSeconds });
}

/** Runs the loop: ask, apply, measure, tell. Returns why it stopped. */
export async function runSearch(run: Run): Promise<StopReason> {
  const { recorder, time } = run;
  let usualSeconds = time.usualSeconds;
  for (;;) {
    await catchUp(run.signal);
    if (Math.abs((time.usualSeconds ?? 0) - (usualSeconds ?? 0)) >= WORTH_TELLING_SECONDS) {
      tellLimits(run);
      usualSeconds = time.usualSeconds;
    }
    if (recorder.state.unfinished) {
      await runTrial(run, recorder.state.unfinished);
      continue;
    }
    checkServer(run);
    await waitWhilePaused(run);
    if (run.steering.stopsSearch) return { reason: STOPPED, notes: [] };
    const next = await nextTrial(run);
    await catchUp(run.signal);
    if (next.kind === 'stop') return next;
    const { trial, refusal } = next;
    await (refusal ? refuseTrial(run, trial, refusal) : runTrial(run, trial));
  }
}

/** The reason of a search that the user stopped. */
export const STOPPED = 'stopped by the user';
/** The reason of a run that was resumed after the search. */
export const ALREADY_SEARCHED = 'the search was already over';

/**
 * Errors: SERVER_FAILED when the last few trials all failed without a verdict on their candidates.
 */
export function checkServer(run: Planning): void {
  const last = run.recorder.state.trials.slice(-MAX_SERVER_FAILURES);
  const kinds = ['requests-failed', 'load-timeout'];
  if (last.length < MAX_SERVER_FAILURES || !last.every((trial) => kinds.includes(trial.failure?.kind ?? ''))) return;
  const reason = last.at(-1)?.failure?.reason ?? '';
  throw new TrituneError(
    'SERVER_FAILED',
    `${MAX_SERVER_FAILURES} trials in a row failed: ${reason}`,
    'read the log of the server, and continue with --resume when it works again',
  );
}
