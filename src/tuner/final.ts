import type { Measurement } from '#profiler/measurement.ts';
import { decideNow, type FinalStep, nextFinal } from '#study/final/final.ts';
import { toFailure } from './outcome.ts';
import { BASELINE, type Planning, type Run } from './run.ts';
import { applyCandidate, measureOnce } from './trial.ts';
import { waitWhilePaused } from './user-commands.ts';

/**
 * Measures the finalists and the baseline in turn and records the decision. Returns why it was cut
 * short, or null. Errors: those that end the run.
 */
export async function runFinal(run: Run): Promise<string | null> {
  for (;;) {
    const step = nextFinalStep(run);
    if (step === null) return null;
    if (step.kind === 'decide') {
      await run.recorder.record({ type: 'gain-decided', ...step.decision });
      return null;
    }
    if (step.kind === 'void') {
      const { round, slower } = step;
      await run.recorder.record({ type: 'round-voided', round, slower });
      continue;
    }
    if (step.opensRound && !run.time.allowsFinalRound(1 + step.rest.length)) return cutShort(run, outOfTime(run));
    await waitWhilePaused(run);
    const { number, candidate } = step.trial;
    try {
      const applied = await applyCandidate(run, number, candidate);
      const measurement = await measureOnce(run, number, applied, step.level, step.isLook ? { purpose: 'search' } : {});
      await run.recorder.record(finalMeasured(step, measurement));
    } catch (error) {
      const failure = toFailure(error, 'measure');
      if (failure === null || failure.kind === 'server-lost' || run.signal.aborted) throw error;
      return cutShort(run, failedInFinal(number, failure.reason));
    }
  }
}

/**
 * Returns the next step of the final; null if there is none. A visit takes one measurement if there
 * is no time for more, so that the others of its round have their turns.
 */
export function nextFinalStep({ recorder, plan, time }: Planning): FinalStep | null {
  const step = nextFinal(recorder.state, plan.finalRounds);
  const goesOn = step?.kind === 'measure' && step.isVisiting;
  return goesOn && !time.allowsFinalRound(1 + step.rest.length)
    ? nextFinal(recorder.state, plan.finalRounds, true)
    : step;
}

/** The reason of a final that was cut short for lack of time. */
export const outOfTime = ({ recorder }: Planning): string =>
  recorder.state.finals.length === 0
    ? 'there was no time for the final'
    : 'there was no time for all rounds of the final';

/** The reason of a final in which a config could not be measured. */
export const failedInFinal = (trial: number, reason: string): string =>
  `${trial === BASELINE ? 'the original config' : `trial ${trial}`} failed in the final: ${reason}`;

type Visit = Extract<FinalStep, { readonly kind: 'measure' }>;

/** Returns the record of this step's measurement. */
export const finalMeasured = ({ trial, round, rest }: Visit, measurement: Measurement) => ({
  type: 'final-measured' as const,
  trial: trial.number,
  round,
  measurement,
  ...(rest.length > 0 && { rest }),
});

/** Decides on the rounds played so far. Returns the reason. */
export async function cutShort(run: Planning, reason: string): Promise<string> {
  const decision = decideNow(run.recorder.state, run.plan.finalRounds);
  if (decision) await run.recorder.record({ type: 'gain-decided', ...decision });
  return reason;
}
