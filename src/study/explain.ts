import { formatMs } from '../base/format.ts';
import { describeLevel } from './describe.ts';
import { type TimeSplit, timeSplitOf } from './explain/time-split.ts';
import { representative } from './final.ts';
import type { StudyState } from './state.ts';
import type { Trial } from './types.ts';

/** Why the best is the best: the numbers, and the same as one paragraph of plain words. */
export interface Explanation {
  readonly trial: number;
  /** Of the original config; null when it is the best itself, or was not measured. */
  readonly before: TimeSplit | null;
  readonly after: TimeSplit;
  readonly text: string;
}

/** null when nothing was measured. */
export function explainBest(state: StudyState): Explanation | null {
  const { best, baseline } = state;
  const after = best && splitOf(state, best);
  if (!best || !after) return null;
  const before = baseline && baseline.number !== best.number ? splitOf(state, baseline) : null;
  const sentences = [
    ...(before ? [`The original: ${before.words}.`] : []),
    `${best.number === baseline?.number ? 'The original is the best' : 'The best'}: ${after.words}.`,
  ];
  return { trial: best.number, before: before?.split ?? null, after: after.split, text: sentences.join(' ') };
}

function splitOf(state: StudyState, trial: Trial): { split: TimeSplit; words: string } | null {
  const measurement = representative(state, trial)?.measurement;
  const split = measurement && timeSplitOf(measurement, trial.candidate.config);
  return split ? { split, words: splitWords(split, describeLevel(measurement.level)) } : null;
}

function splitWords({ totalMs, parts }: TimeSplit, level: string): string {
  const whole = `at ${level} a request takes ${formatMs(totalMs)} on average`;
  if (!parts) return whole;
  const { queueMs, computeMs, outsideMs } = parts;
  const part = (ms: number): string => `${formatMs(ms)} (${Math.round((100 * ms) / totalMs)} %)`;
  return `${whole}: ${part(queueMs)} in the queue, ${part(computeMs)} in compute, ${part(outsideMs)} outside (network, front end, client)`;
}
