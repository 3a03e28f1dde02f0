import { formatFigure, formatMs } from '#base/format.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { CandidateShape } from '#space/types.ts';

/**
 * Means over a measurement of a language model's engine; null for figures that its metrics page
 * lacks.
 */
export interface MeanEngineLoad {
  readonly running: number | null;
  readonly waiting: number | null;
  /** The most sequences that it runs at once. */
  readonly most: number | null;
  /** Share of the KV cache in use, 0 to 1. */
  readonly kvCacheShare: number | null;
  readonly preemptionsPerSecond: number | null;
}

/** Returns the load of a candidate's engine; null for a measurement without its figures. */
export function computeEngineLoad({ engine }: Measurement, { continuous }: CandidateShape): MeanEngineLoad | null {
  if (!engine || Object.keys(engine).length === 0) return null;
  return {
    running: engine.runningSequences ?? null,
    waiting: engine.waitingSequences ?? null,
    most: continuous?.maxSequences ?? null,
    kvCacheShare: engine.kvCacheShare ?? null,
    preemptionsPerSecond: engine.preemptionsPerSecond ?? null,
  };
}

/**
 * The share of the KV cache in use from which it counts as full: an engine admits no prompt that
 * does not fit.
 */
const FULL_CACHE = 0.9;
/**
 * The mean number of waiting sequences that counts. Fewer are explained by a prompt that has just
 * arrived.
 */
const SOME_WAIT = 1;
/**
 * Means over windows stay below the limit, because a finished sequence is replaced one step later.
 */
const NEARLY_ALL = 0.9;

/** True if sequences wait, or lost their place, for lack of KV cache. */
export const isCacheFull = ({ kvCacheShare, waiting, preemptionsPerSecond }: MeanEngineLoad): boolean =>
  (kvCacheShare ?? 0) >= FULL_CACHE && ((waiting ?? 0) >= SOME_WAIT || (preemptionsPerSecond ?? 0) > 0);

/** True if sequences wait because the most that may run are running. */
export const isOutOfSequences = ({ running, waiting, most }: MeanEngineLoad): boolean =>
  most !== null && (running ?? 0) >= NEARLY_ALL * most && (waiting ?? 0) >= SOME_WAIT;

// The functions below return figures as part of a sentence; '' without any.

export const sequenceWords = ({ running, waiting }: Pick<MeanEngineLoad, 'running' | 'waiting'>): string => {
  const counts = [
    ...(running === null ? [] : [`${formatFigure(running)} sequences run`]),
    ...(waiting === null ? [] : [`${formatFigure(waiting)} wait`]),
  ];
  return counts.length === 0 ? '' : `${counts.join(' and ')} in the mean`;
};

export const cacheWords = ({ kvCacheShare }: MeanEngineLoad): string =>
  kvCacheShare === null ? '' : `${Math.round(kvCacheShare * 100)} % of the KV cache is in use`;

export const preemptionWords = ({ preemptionsPerSecond }: MeanEngineLoad): string =>
  preemptionsPerSecond ? `${formatFigure(preemptionsPerSecond)} sequences a second lose their place in it` : '';

export const engineWords = (load: MeanEngineLoad): string =>
  [sequenceWords(load), cacheWords(load), preemptionWords(load)].filter((words) => words !== '').join(', ');

/**
 * Returns where the time of a request to a language model goes: until its first token, and from
 * token to token; null without figures of tokens.
 */
export function tokenTimeSentence({ tokens }: Measurement): string | null {
  if (!tokens || !(tokens.ttftMs.avg > 0)) return null;
  const { ttftMs, itlMs, outputTokens } = tokens;
  const first = `The first token comes after ${formatMs(ttftMs.avg)} in the mean (p99 ${formatMs(ttftMs.p99)})`;
  if (!(itlMs.avg > 0)) return `${first}.`;
  return `${first}, each of the others ${formatMs(itlMs.avg)} after the one before (p99 ${formatMs(itlMs.p99)}); a reply has ${formatFigure(outputTokens.mean)}.`;
}
