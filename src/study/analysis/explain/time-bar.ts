import { formatFigure, formatMs } from '#base/format.ts';
import type { StudyState } from '../../records/state.ts';
import type { ReasonBar, TimePart } from '../../summary/explanation-schema.ts';
import type { Trial } from '../../types.ts';
import { stageSplits } from '../stages.ts';
import type { SplitMeasurement } from './words.ts';

/** Returns the length of a bar, in its unit. */
export const computeLength = ({ parts }: ReasonBar): number => parts.reduce((sum, { value }) => sum + value, 0);

/** Parts below this share of a bar are left out of its words. */
const MIN_TOLD = 0.005;

/**
 * Returns the bar in words: `10.5 ms: queue 74 %, compute 24 %, network and client 2 %`; only its
 * length if it has no parts.
 */
export function describeBar(bar: ReasonBar): string {
  const whole = computeLength(bar);
  const length = bar.unit === 'ms' ? formatMs(whole) : `${formatFigure(whole)} ${bar.unit}`;
  const keptParts = bar.parts.filter(({ value }) => value >= MIN_TOLD * whole);
  if (bar.parts.length < 2) return length;
  const without = bar.parts.find(({ kind }) => kind === 'without');
  if (without) return comparedWords(bar, without.value);
  return `${length}: ${keptParts.map(({ name, value }) => `${name} ${Math.round((100 * value) / whole)} %`).join(', ')}`;
}

/** `330 infer/s with it, 110 without`: the change adds to a throughput and saves of a latency. */
function comparedWords(bar: ReasonBar, part: number): string {
  const whole = computeLength(bar);
  return bar.unit === 'ms'
    ? `${formatMs(part)} with it, ${formatMs(whole)} without`
    : `${formatFigure(whole)} ${bar.unit} with it, ${formatFigure(part)} without`;
}

/**
 * Returns the parts of a request's mean latency, in milliseconds: by model for a pipeline, first
 * token and the rest for a language model, otherwise queue, compute and the rest. One part if
 * nothing more is known.
 */
export function createTimeBar(split: SplitMeasurement, state: StudyState, trial: Trial): ReasonBar {
  const parts = stageParts(split, state, trial) ?? tokenParts(split) ?? splitParts(split);
  return { unit: 'ms', parts: parts.filter(({ value }) => value > 0) };
}

/** null if it is no pipeline, and without the statistics of its models. */
function stageParts(
  { measurement, split }: SplitMeasurement,
  { started }: StudyState,
  { candidate }: Trial,
): TimePart[] | null {
  const { topology } = started;
  if (topology?.fronts.length !== 1) return null;
  const stages = stageSplits(measurement, topology, candidate.shape).map(
    ({ model, timesPerRequest, queueMs, computeMs }): TimePart => ({
      name: model,
      kind: 'stage',
      value: timesPerRequest * (queueMs + computeMs),
    }),
  );
  const inside = stages.reduce((sum, { value }) => sum + value, 0);
  if (!(inside > 0 && Number.isFinite(inside))) return null;
  return [...stages, { name: 'elsewhere', kind: 'outside', value: split.totalMs - inside }];
}

/** null if it is no language model. */
function tokenParts({ measurement: { tokens }, split: { totalMs } }: SplitMeasurement): TimePart[] | null {
  const first = tokens?.ttftMs.avg ?? 0;
  if (!(first > 0 && first <= totalMs)) return null;
  return [
    { name: 'first token', kind: 'first-token', value: first },
    { name: 'other tokens', kind: 'other-tokens', value: totalMs - first },
  ];
}

function splitParts({ split: { totalMs, parts } }: SplitMeasurement): TimePart[] {
  if (!parts) return [{ name: 'a request', kind: 'whole', value: totalMs }];
  return [
    { name: 'queue', kind: 'queue', value: parts.queueMs },
    { name: 'compute', kind: 'compute', value: parts.computeMs },
    { name: 'network and client', kind: 'outside', value: parts.outsideMs },
  ];
}
