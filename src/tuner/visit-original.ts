import { nextFinal } from '../study/final/final.ts';
import { isSameLevel } from '../study/level/line.ts';
import type { StudyState } from '../study/records/state.ts';
import type { Trial } from '../study/types.ts';
import { finalMeasured } from './final.ts';
import type { Run } from './run.ts';
import { runTrial } from './trial.ts';

/** By so much a speed must be seen otherwise than before for the search to go on: what it had compared was not alike. */
const DRIFTED = Math.log(1.1);

/**
 * Measures the original config once more when the search is over: at the level of its own that the gain is to be counted from, if the
 * sampler still looks for it, else at the level that the final begins with. Two readings of one config show how the speed has changed.
 * Returns whether that changes what the search has compared.
 */
export async function visitOriginal(run: Run): Promise<boolean> {
  const { baseline, finals, compared, speeds: before } = run.recorder.state;
  if (!baseline || baseline.failure || finals.length > 0) return false;
  const step = nextFinal(run.recorder.state, run.plan.finalRounds);
  if (step?.kind !== 'measure' || !run.time.allowsTrial({ hasFinalists: true })) return false;
  const own = run.sampler().level?.({ trials: compared.trials }, compared.baseline ?? baseline) ?? null;
  if (own === null && step.trial.number !== baseline.number) return false;
  const batch = step.level.batch === undefined ? {} : { batch: step.level.batch };
  const levels =
    own === null ? ({ kind: 'fixed', values: [step.level.value], ...batch } as const) : ({ kind: 'search' } as const);
  const { number, role, candidate, measurements: earlier } = baseline;
  await runTrial(run, { number, role, candidate, levels, earlier });
  return hasDrifted(run.recorder.state, before);
}

function hasDrifted({ trials, speeds }: StudyState, before: StudyState['speeds']): boolean {
  const factor = (by: StudyState['speeds'], measurement: Trial['measurements'][number]): number =>
    Math.log(by.of(measurement).value / by.usual);
  const searched = trials.filter(({ role }) => role === 'search').flatMap(({ measurements }) => measurements);
  return searched.some((each) => Math.abs(factor(speeds, each) - factor(before, each)) > DRIFTED);
}

/** The final would measure the original config at once: where its last reading is at the level that the final begins with, that is its first. */
export async function openFinal({ recorder, plan, time }: Run): Promise<void> {
  const { baseline, finals } = recorder.state;
  const last = baseline?.measurements.at(-1);
  const step = nextFinal(recorder.state, plan.finalRounds);
  if (finals.length > 0 || step?.kind !== 'measure' || step.trial.number !== baseline?.number) return;
  if (last && isSameLevel(step.level, last.level) && time.allowsFinalRound(1 + step.rest.length))
    await recorder.record(finalMeasured(step, last));
}
