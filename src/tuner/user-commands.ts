import type { LatencyBudget } from '#study/types.ts';
import type { Planning, Run } from './run.ts';
import type { StudyChange } from './steering.ts';

/**
 * Waits while the user has paused the run. Called between two steps. Errors: the signal's reason,
 * those of the journal.
 */
export async function waitWhilePaused(run: Run): Promise<void> {
  if (!run.steering.isPaused) return;
  await run.recorder.record({ type: 'study-paused' });
  await run.time.pass(() => run.steering.untilResumed(run.signal));
  await run.recorder.record({ type: 'study-continued' });
}

/** Records the user's commands, at once and in order. A command takes effect with its record. */
export function recordUserCommands(run: Planning): void {
  run.steering.listen((change) => {
    // A journal that cannot be written ends the run at its next record.
    recordCommand(run, change).catch(() => undefined);
  });
}

/** Records one change that the user requests. Errors: those of the journal. */
export function recordCommand(run: Planning, change: StudyChange): Promise<void> {
  const { recorder } = run;
  switch (change.kind) {
    case 'budget': {
      const { goal } = recorder.state;
      return recorder.record({ type: 'goal-changed', goal: { ...goal, budget: toBudget(run, change.latencyMs) } });
    }
    case 'narrowing':
      return recorder.record({ type: 'space-narrowed', narrowing: change.narrowing });
    case 'wish':
      return recorder.record({ type: 'trial-requested', ...change.wish });
    case 'withdrawal':
      return recorder.record({ type: 'trial-withdrawn', ...change.wish });
  }
}

function toBudget({ recorder }: Planning, latencyMs: number): LatencyBudget {
  const { goal, trials } = recorder.state;
  const measured = trials.flatMap(({ measurements }) => measurements)[0]?.budgetLatencyMs.percentile;
  return { percentile: goal.budget?.percentile ?? measured ?? 99, latencyMs };
}
