import { formatMs, formatRate, plainLine } from '../base/format.ts';
import type { LoadLevel } from '../loadgen/types.ts';
import type { Narrowing } from '../space/narrowing.ts';
import type { Assignment, ParameterValue } from '../space/types.ts';
import type { Prediction } from './prediction.ts';
import type { Constraint, Objective } from './types.ts';

/** The assignment on one line: `instances=2 max_batch_size=8`. */
export function describeAssignment(assignment: Assignment): string {
  const parts = Object.entries(assignment).map(([name, value]) => `${name}=${describeValue(value)}`);
  return parts.length === 0 ? 'the original config' : plainLine(parts.join(' '));
}

/** `only instances=2; not max_batch_size=1, 2`; '' when nothing is ruled out. */
export function describeNarrowing(narrowing: Narrowing): string {
  const parts = Object.entries(narrowing).map(([name, restriction]) =>
    'pinned' in restriction
      ? `only ${name}=${describeValue(restriction.pinned)}`
      : `not ${name}=${restriction.excluded.map(describeValue).join(', ')}`,
  );
  return plainLine(parts.join('; '));
}

/** A parameter's value as a person reads it; null leaves what the original config has. */
export function describeValue(value: ParameterValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export const describeLevel = (level: LoadLevel): string =>
  level.mode === 'concurrency' ? `concurrency ${level.value}` : `${level.value} requests/s`;

/** As it was asked for: `gpu-memory <= 6000`. */
export const describeConstraint = ({ metric, relation, value }: Constraint): string => `${metric} ${relation} ${value}`;

/** `throughput:10 and latency-p99:5`; without their weights where these are alike. */
export function describeObjectives(objectives: readonly Objective[]): string {
  const areAlike = objectives.every(({ weight }) => weight === objectives[0]?.weight);
  return objectives.map(({ metric, weight }) => (areAlike ? metric : `${metric}:${weight}`)).join(' and ');
}

/** What a gain is a gain in, to stand after it; '' for throughput alone, which is what a bare factor is taken for. */
export function describeGainIn(objectives: readonly Objective[]): string {
  const isBare = objectives.every(({ metric }) => metric === 'throughput');
  return isBare ? '' : ` by ${describeObjectives(objectives)}`;
}

/** `1,190 infer/s, p99 26 ms (queueing model, from the other trials' 12 measurements)`, and what none of them had. */
export function describePrediction({ throughput, budgetLatencyMs, from, quality, extrapolates }: Prediction): string {
  const guess = extrapolates.length > 0 ? `; none had ${extrapolates.map((each) => unseen[each]).join(' or ')}` : '';
  const basis = `queueing model, from the other trials' ${from} measurement${from === 1 ? '' : 's'}${guess}${quality.isGood ? '' : `; it ${quality.words}`}`;
  return `${formatRate(throughput)}, p${budgetLatencyMs.percentile} ${formatMs(budgetLatencyMs.value)} (${basis})`;
}

const unseen: Readonly<Record<Prediction['extrapolates'][number], string>> = {
  instances: 'so many instances',
  'batch size': 'batches so large',
  variant: 'its other settings',
};
