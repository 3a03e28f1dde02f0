import { MS_PER_S, msToNs } from '#base/units.ts';
import type { SequenceLengths } from '#queueing/continuous/lengths.ts';
import type { TokenObservation } from './observed-traffic.ts';

/**
 * Knowledge of an engine before its law is fitted: rough figures of the measurement with the fewest
 * sequences at once.
 */
export interface RoughFigures {
  readonly tpotNs: number;
  /** Time to the first token, without the wait for a place in the engine. */
  readonly ttftNs: number;
  /**
   * Mean computed tokens of a prompt, and mean tokens of a sequence in the middle of its answer.
   */
  readonly promptTokens: number;
  readonly contextTokens: number;
}

/** The least time of a prompt, in steps of decoding. */
const MIN_PROMPT = 0.1;

/** Returns rough figures of observations, at least one. */
export function roughFigures(observations: readonly TokenObservation[], lengths: SequenceLengths): RoughFigures {
  const { choice, measurement } = observations.reduce((least, each) =>
    meanRunning(each) < meanRunning(least) ? each : least,
  );
  const { tpotMs, ttftMs } = measurement.tokens;
  const cached = choice.continuous?.cachesPrefixes ? lengths.cachedShare : 0;
  const stepMs = tpotMs.p50 > 0 ? tpotMs.p50 : ttftMs.p50;
  // Little's law: the time of one sequence is the number that run at once over the rate at which
  // they end.
  const eachMs =
    (MS_PER_S * meanRunning({ choice, measurement }) * choice.policy.instances) / measurement.throughput.value;
  const promptMs = Math.min(ttftMs.p50, eachMs - (lengths.output.mean - 1) * tpotMs.avg);
  return {
    tpotNs: msToNs(stepMs),
    ttftNs: msToNs(Math.max(MIN_PROMPT * stepMs, promptMs)),
    promptTokens: Math.max(1, lengths.input.mean * (1 - cached)),
    contextTokens: lengths.input.mean + lengths.output.mean / 2,
  };
}

/**
 * Returns the mean number of requests in an engine by Little's law, up to the most that run at
 * once.
 */
export function meanRunning({ choice, measurement: { throughput, latencyMs } }: TokenObservation): number {
  const inEngine = (throughput.value * latencyMs.avg) / MS_PER_S / choice.policy.instances;
  return Math.min(choice.continuous?.maxSequences ?? 1, inEngine);
}
