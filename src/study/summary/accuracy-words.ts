import { plainLine } from '#base/format.ts';
import type { Accuracy } from '#loadgen/accuracy.ts';
import type { StudyState } from '../records/state.ts';

/**
 * Returns the figures in words:
 * `0.8 % of 160 output values outside; largest difference 0.0123, relative 0.4; top1 0.761`.
 */
export const describeAccuracy = ({ elements, outsideShare, absolute, relative, metric }: Accuracy): string =>
  [
    ...(elements > 0 || !metric ? [`${percent(outsideShare)} of ${elements} output values outside`] : []),
    ...(elements > 0 || !metric ? [`largest difference ${short(absolute)}, relative ${short(relative)}`] : []),
    ...(metric ? [`${plainLine(metric.name)} ${short(metric.value)}`] : []),
  ].join('; ');

/** Returns a share in words: `0.8 %`. */
export const percent = (share: number): string => `${short(100 * share)} %`;

const short = (value: number): string => String(Number(value.toPrecision(3)));

/** True if variants of the model were measured without a check of their outputs. */
export const hasUncheckedVariants = ({ started, trials }: Pick<StudyState, 'started' | 'trials'>): boolean =>
  started.space.variants !== undefined &&
  trials.every(({ applied, failure }) => !applied?.accuracy && failure?.kind !== 'inaccurate');
