import { isTrituneError } from '../../base/errors.ts';
import { plainLine } from '../../base/format.ts';
import type { LoadLevel } from '../../loadgen/types.ts';
import type { LevelReport } from '../../profiler/level-report.ts';
import type { LevelListener, LevelTarget } from './measuring.ts';

/** As often a level is measured again; an agent that is lost each time is taken to be so for good. */
const MOST_AGAIN = 2;

/**
 * Measures a level by all agents or by none: where one is lost in the middle of it, the whole level is measured again as soon as the agent is
 * back, for which it has the time that the load generator gives it (`src/loadgen/agents/open-agents.ts`). `tell`: what the person is told of
 * that. Errors: those of the target; AGENT_FAILED for an agent that does not come back, or is lost each time.
 */
export async function measuredWhole(
  target: Pick<LevelTarget, 'measure'>,
  level: LoadLevel,
  listener: LevelListener,
  tell: (line: string) => void,
): Promise<LevelReport> {
  let first: unknown = null;
  for (let losses = 0; ; losses++) {
    let isUnderWay = false;
    const onProgress: LevelListener['onProgress'] = (progress) => {
      isUnderWay = true;
      listener.onProgress(progress);
    };
    try {
      return await target.measure(level, { ...listener, onProgress });
    } catch (error) {
      first ??= error;
      // Who does not come back is told of as it was lost.
      const isGone = losses > 0 && !isUnderWay;
      if (!isTrituneError(error, 'AGENT_FAILED')) throw error;
      if (isGone || losses >= MOST_AGAIN) throw first;
      tell(`${plainLine(error.message)}; the level is measured again when it is back`);
    }
  }
}
