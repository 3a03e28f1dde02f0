import { nextFinal } from '../study/final.ts';
import type { Run } from './run.ts';
import { runTrial } from './trial.ts';

/**
 * The gain is counted from the original config at its own best level. Where that is, is known best when the search is over, and
 * the final begins with that config on the server: a sampler that has a say in levels then says which are still to be measured.
 */
export async function visitOriginal(run: Run): Promise<void> {
  const { trials, baseline, finals } = run.ledger.state;
  if (!baseline || baseline.failure || finals.length > 0) return;
  if (nextFinal(run.ledger.state, run.plan.finalRounds) === null) return;
  if (!run.time.allowsTrial({ hasFinalists: true })) return;
  const level = run.sampler().level?.({ trials }, baseline) ?? null;
  if (level === null) return;
  const { number, role, candidate, measurements: earlier } = baseline;
  await runTrial(run, { number, role, candidate, levels: { kind: 'search' }, earlier });
  await openFinal(run, number, earlier.length);
}

/** The final would measure the same again at once: where it begins at the level that was measured last, that reading is its first. */
async function openFinal({ ledger, plan, time }: Run, trial: number, earlier: number): Promise<void> {
  const last = ledger.state.baseline?.measurements.slice(earlier).at(-1);
  const step = nextFinal(ledger.state, plan.finalRounds);
  if (step?.kind !== 'measure' || step.trial.number !== trial || step.level !== last?.level.value) return;
  if (time.allowsFinalRound(step.left))
    await ledger.record({ type: 'final-measured', trial, round: step.round, measurement: last });
}
