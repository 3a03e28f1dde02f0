import { nextFinal } from '#study/final/final.ts';
import { isSameLevel } from '#study/level-line.ts';
import type { StudyState } from '#study/records/state.ts';
import type { Trial } from '#study/types.ts';
import { finalMeasured } from './final.ts';
import type { Planning, Run } from './run.ts';
import { type Assigned, runTrial } from './trial.ts';

/**
 * The change of an estimated speed from which on the search continues, because its comparisons were
 * not at like speeds.
 */
const DRIFTED = Math.log(1.1);

/**
 * Measures the original config once more after the search: at its own level from which the gain is
 * counted, if the sampler still looks for it, else at the level that the final begins with. Two
 * readings of one config show how the speed has changed. Returns whether that changes the search's
 * comparisons.
 */
export async function visitOriginal(run: Run): Promise<boolean> {
  const { speeds: before } = run.recorder.state;
  const visit = plannedVisit(run);
  if (visit === null) return false;
  await runTrial(run, visit);
  return hasDrifted(run.recorder.state, before);
}

/** Returns the visit of the original config after the search; null if none is needed. */
export function plannedVisit(run: Planning): Assigned | null {
  const { baseline, finals, compared } = run.recorder.state;
  if (!baseline || baseline.failure || finals.length > 0) return null;
  const step = nextFinal(run.recorder.state, run.plan.finalRounds);
  if (step?.kind !== 'measure' || !run.time.allowsTrial({ hasFinalists: true })) return null;
  const level = run.sampler().level?.({ trials: compared.trials }, compared.baseline ?? baseline) ?? null;
  if (level === null && step.trial.number !== baseline.number) return null;
  const batch = step.level.batch === undefined ? {} : { batch: step.level.batch };
  const levels =
    level === null ? ({ kind: 'fixed', values: [step.level.value], ...batch } as const) : ({ kind: 'search' } as const);
  const { number, role, candidate, measurements: earlier } = baseline;
  return { number, role, candidate, levels, earlier };
}

/**
 * True if the estimate of a speed has changed so much that the comparisons were not at like speeds.
 */
export function hasDrifted({ trials, speeds }: StudyState, before: StudyState['speeds']): boolean {
  const factor = (by: StudyState['speeds'], measurement: Trial['measurements'][number]): number =>
    Math.log(by.of(measurement).value / by.usual);
  const searched = trials.filter(({ role }) => role === 'search').flatMap(({ measurements }) => measurements);
  return searched.some((each) => Math.abs(factor(speeds, each) - factor(before, each)) > DRIFTED);
}

/**
 * The final would measure the original config at once. If its last reading is at the level that the
 * final begins with, that reading is the final's first.
 */
export async function openFinal({ recorder, plan, time }: Planning): Promise<void> {
  const { baseline, finals } = recorder.state;
  const last = baseline?.measurements.at(-1);
  const step = nextFinal(recorder.state, plan.finalRounds);
  if (finals.length > 0 || step?.kind !== 'measure' || step.trial.number !== baseline?.number) return;
  if (last && isSameLevel(step.level, last.level) && time.allowsFinalRound(1 + step.rest.length))
    await recorder.record(finalMeasured(step, last));
}
