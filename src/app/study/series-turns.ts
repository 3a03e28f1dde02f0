import { toExitCode } from '../exit-codes.ts';
import type { TurnEnding } from './series-record.ts';

export interface TurnTaking<T> {
  /**
   * Takes one turn, however it ends. `left`: the number of turns left, including this one. Never
   * rejects.
   */
  take(turn: T, left: number): Promise<TurnEnding>;
  /** True if the server still answers. */
  answers(): Promise<boolean>;
  /** Resolves once the ending is recorded. */
  onEnd(turn: T, ending: TurnEnding): Promise<void>;
}

/**
 * Takes one turn after another. After a failure the next turns still run, unless the server is
 * gone. An interrupt ends all.
 */
export async function takeTurns<T>(
  turns: readonly T[],
  { take, answers, onEnd }: TurnTaking<T>,
  signal: AbortSignal,
): Promise<void> {
  let isLost = false;
  for (const [index, turn] of turns.entries()) {
    if (signal.aborted) await onEnd(turn, interrupted());
    else if (isLost) await onEnd(turn, serverLost());
    else {
      const ending = await take(turn, turns.length - index);
      await onEnd(turn, ending);
      isLost = ending.error !== null && !(await answers());
    }
  }
}

const interrupted = (): TurnEnding => ({
  exitCode: toExitCode('interrupted'),
  error: { code: 'INTERRUPTED', message: 'the run was interrupted before this model' },
});

const serverLost = (): TurnEnding => ({
  exitCode: toExitCode('SERVER_UNREACHABLE'),
  error: { code: 'SERVER_UNREACHABLE', message: 'the server could not be reached any more before this model' },
});
