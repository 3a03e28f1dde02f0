import { isTrituneError } from '../../base/errors.ts';
import { plainLine } from '../../base/format.ts';
import type { LoadLevel } from '../../loadgen/types.ts';
import type { LevelReport } from '../../profiler/level-report.ts';
import type { LevelListener, LevelTarget } from './measuring.ts';

/**
 * The maximum number of times a level is measured again. An agent that is lost each time counts as
 * lost for good.
 */
const MAX_AGAIN = 2;

/**
 * Measures a level with all agents or not at all. If an agent is lost, measures the whole level
 * again as soon as the agent is back, within the time that the load generator allows
 * (`src/loadgen/agents/open-agents.ts`). `tell`: called with messages for people about that.
 * Errors: those of the target; AGENT_FAILED for an agent that does not come back, or is lost each
 * time.
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
      // The loss of an agent that does not come back has been reported already.
      const isGone = losses > 0 && !isUnderWay;
      if (!isTrituneError(error, 'AGENT_FAILED')) throw error;
      if (isGone || losses >= MAX_AGAIN) throw first;
      tell(`${plainLine(error.message)}; the level is measured again when it is back`);
    }
  }
}
