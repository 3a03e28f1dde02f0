import type { Run } from './run.ts';

/** Between two steps: while a person has paused the run, waits. Errors: the signal's reason, those of the journal. */
export async function heedPause(run: Run): Promise<void> {
  if (!run.steering.isPaused) return;
  await run.ledger.record({ type: 'study-paused' });
  await run.time.pass(() => run.steering.untilResumed(run.signal));
  await run.ledger.record({ type: 'study-continued' });
}

/** Writes a new budget down when a person asks for one, so that from that moment on everything goes by it. */
export function heedBudgets(run: Run): void {
  run.steering.listen((latencyMs) => {
    const { goal, trials } = run.ledger.state;
    const measured = trials.flatMap(({ measurements }) => measurements)[0]?.budgetLatencyMs.percentile;
    const percentile = goal.budget?.percentile ?? measured ?? 99;
    // What keeps the journal from being written ends the run at its next record.
    run.ledger
      .record({ type: 'goal-changed', goal: { ...goal, budget: { percentile, latencyMs } } })
      .catch(() => undefined);
  });
}
