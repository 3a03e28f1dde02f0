import { interrupted } from '#base/abort.ts';
import type { Clock } from '#base/clock.ts';
import { isTrituneError, type TrituneError } from '#base/errors.ts';
import { formatDuration, plainLine } from '#base/format.ts';
import { MS_PER_S, nsToMs } from '#base/units.ts';
import type { LevelListener, LevelTarget } from './measuring.ts';

/**
 * The maximum number of times a level is measured again. What is lost each time counts as lost for
 * good: a server may go down under the load.
 */
const MAX_AGAIN = 2;
const FIRST_LOOK_MS = 250;
const MAX_LOOK_MS = 2000;

/** How losses are outlasted. */
export interface OutlastRule {
  /** The longest outage of the server, in seconds; 0 waits for none. */
  readonly maxOutageSeconds: number;
  /** True if the server has answered already. */
  readonly hasAnswered: boolean;
  readonly clock: Pick<Clock, 'nowNs' | 'sleep'>;
  readonly signal: AbortSignal;
  /** Called with messages for people. */
  readonly tell: (line: string) => void;
}

/** A server that starts may answer calls before it serves its models. */
const awayCodes = ['SERVER_UNREACHABLE', 'SERVER_TIMEOUT', 'SERVER_FAILED', 'MODEL_UNKNOWN', 'MODEL_UNREADY'] as const;

/**
 * Opens a target that measures a level as a whole or not at all. If its server goes away, waits
 * until that is back, and opens the target anew: sockets and shared memory are lost with a server.
 * If an agent is lost, measures again as soon as the agent is back, within the time that the load
 * generator allows (`src/loadgen/agents/open-agents.ts`). A server that never answered is not
 * waited for. Errors of its `measure`: those of the target; SERVER_UNREACHABLE or AGENT_FAILED for
 * what does not come back, or is lost each time; INTERRUPTED.
 */
export async function openOutlasting<T extends LevelTarget>(open: () => Promise<T>, rule: OutlastRule): Promise<T> {
  const first = await open();
  let current: LevelTarget | null = first;
  let { hasAnswered } = rule;
  const close = async (): Promise<void> => {
    const closing = current;
    current = null;
    await closing?.close();
  };
  const measure: LevelTarget['measure'] = async (level, listener, change) => {
    const losses = new Losses(rule);
    for (;;) {
      let isUnderWay = false;
      const onProgress: LevelListener['onProgress'] = (progress) => {
        isUnderWay = true;
        if (progress.phase === 'window' && progress.throughput > 0) {
          hasAnswered = true;
          losses.onAnswer();
        }
        listener.onProgress(progress);
      };
      try {
        current ??= await open();
        const report = await current.measure(level, { ...listener, onProgress }, change);
        hasAnswered = true;
        return report;
      } catch (error) {
        if (rule.signal.aborted) throw error;
        if (isTrituneError(error, 'AGENT_FAILED')) losses.takeAgentLoss(error, isUnderWay);
        else {
          if (!hasAnswered) throw error;
          await losses.outlastServer(error);
          await close();
        }
        listener.onAgain();
      }
    }
  };
  return { ...first, measure, close };
}

/** The losses during one level. */
class Losses {
  readonly #rule: OutlastRule;
  #count = 0;
  #firstOfAgent: TrituneError | null = null;
  #outage: { readonly sinceNs: number; readonly error: TrituneError; lookMs: number } | null = null;

  constructor(rule: OutlastRule) {
    this.#rule = rule;
  }

  /** The server is back. */
  onAnswer(): void {
    this.#outage = null;
  }

  /** Errors: AGENT_FAILED for an agent that does not come back, or is lost each time. */
  takeAgentLoss(error: TrituneError, isUnderWay: boolean): void {
    this.#firstOfAgent ??= error;
    // The loss of an agent that does not come back has been reported already.
    const isGone = this.#count > 0 && !isUnderWay;
    if (isGone || this.#count++ >= MAX_AGAIN) throw this.#firstOfAgent;
    this.#rule.tell(`${plainLine(error.message)}; the level is measured again when it is back`);
  }

  /**
   * Waits a moment for a server that went away. Errors: the given one if it is about something
   * else; SERVER_UNREACHABLE for a server that is away too long, or too often; INTERRUPTED.
   */
  async outlastServer(error: unknown): Promise<void> {
    const { clock, signal, tell, maxOutageSeconds } = this.#rule;
    if (!isTrituneError(error, ...(this.#outage ? awayCodes : (['SERVER_UNREACHABLE'] as const)))) throw error;
    if (!this.#outage) {
      if (maxOutageSeconds === 0 || this.#count++ >= MAX_AGAIN) throw error;
      this.#outage = { sinceNs: clock.nowNs(), error, lookMs: FIRST_LOOK_MS };
      tell(`${plainLine(error.message)}: waiting for it, ${formatDuration(maxOutageSeconds)} at most`);
    }
    const outage = this.#outage;
    const leftMs = maxOutageSeconds * MS_PER_S - nsToMs(clock.nowNs() - outage.sinceNs);
    if (leftMs <= 0) throw outage.error;
    await clock.sleep(Math.min(outage.lookMs, leftMs), signal).catch(() => {
      throw interrupted(signal);
    });
    outage.lookMs = Math.min(2 * outage.lookMs, MAX_LOOK_MS);
  }
}
