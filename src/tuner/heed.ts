import type { LatencyBudget } from '../study/types.ts';
import type { Run } from './run.ts';
import type { StudyChange } from './steering.ts';

/** Between two steps: while a person has paused the run, waits. Errors: the signal's reason, those of the journal. */
export async function heedPause(run: Run): Promise<void> {
  if (!run.steering.isPaused) return;
  await run.ledger.record({ type: 'study-paused' });
  await run.time.pass(() => run.steering.untilResumed(run.signal));
  await run.ledger.record({ type: 'study-continued' });
}

/** Writes down what a person asks for, at once and in their order: from its record on, everything goes by it. */
export function heedChanges(run: Run): void {
  run.steering.listen((change) => {
    // What keeps the journal from being written ends the run at its next record.
    recordChange(run, change).catch(() => undefined);
  });
}

function recordChange(run: Run, change: StudyChange): Promise<void> {
  const { ledger } = run;
  switch (change.kind) {
    case 'budget': {
      const { goal } = ledger.state;
      return ledger.record({ type: 'goal-changed', goal: { ...goal, budget: budgetOf(run, change.latencyMs) } });
    }
    case 'narrowing':
      return ledger.record({ type: 'space-narrowed', narrowing: change.narrowing });
    case 'wish':
      return ledger.record({ type: 'trial-requested', ...change.wish });
    case 'withdrawal':
      return ledger.record({ type: 'trial-withdrawn', ...change.wish });
  }
}

function budgetOf({ ledger }: Run, latencyMs: number): LatencyBudget {
  const { goal, trials } = ledger.state;
  const measured = trials.flatMap(({ measurements }) => measurements)[0]?.budgetLatencyMs.percentile;
  return { percentile: goal.budget?.percentile ?? measured ?? 99, latencyMs };
}
