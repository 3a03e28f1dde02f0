import { formatFigure, formatMs, formatRate, listed, plainLine, type RateUnit } from '#base/format.ts';
import { nsToMs } from '#base/units.ts';
import type { LoadLevel } from '#loadgen/types.ts';
import type { RequestLimits } from '#queueing/continuous/request-limits.ts';
import type { Narrowing } from '#space/narrowing.ts';
import type { Assignment, ParameterValue } from '#space/types.ts';
import { metricText } from '../goal/metrics/format.ts';
import { builtInMetrics, type Metrics } from '../goal/metrics/registry.ts';
import type { SpeedChange } from '../speed/changes.ts';
import type { GpuCause } from '../speed/gpu-cause.ts';
import type { Bottleneck, Constraint, LatencyBudget, Objective } from '../types.ts';
import type { TokenPoint } from './parts-schema.ts';
import type { Prediction, Recommendation } from './point-schema.ts';

/** The most letters of a model's part of an assignment on one line. */
const MAX_LETTERS = 300;

/**
 * Returns the assignment on one line: `instances=2 max_batch_size=8`; of several models
 * `encoder(instances=2 max_batch_size=8) head(instances=1)`.
 */
export function describeAssignment(assignment: Assignment): string {
  const parts = settingsByModel(assignment);
  if (parts.length === 0) return 'the original config';
  const texts = parts.map(([model, settings]) => (model === '' ? settings : `${model}(${settings})`));
  return plainLine(texts.join(' '), MAX_LETTERS * parts.length);
}

/**
 * Returns the assignment behind a title; that of several models with a line for each below it:
 * `trial 1:`, `encoder: instances=2`.
 */
export function assignmentLines(
  title: string,
  assignment: Assignment,
): { readonly first: string; readonly rest: readonly string[] } {
  const parts = settingsByModel(assignment).filter(([model]) => model !== '');
  if (parts.length === 0) return { first: `${title} ${describeAssignment(assignment)}`, rest: [] };
  return { first: title, rest: parts.map(([model, settings]) => plainLine(`${model}: ${settings}`, MAX_LETTERS)) };
}

/** Returns each model's settings as text; the model is '' in a study of one. */
function settingsByModel(assignment: Assignment): readonly (readonly [model: string, settings: string])[] {
  const byModel = Map.groupBy(Object.entries(assignment), ([name]) => name.slice(0, Math.max(0, name.indexOf('/'))));
  return [...byModel].map(([model, parameters]) => [
    model,
    parameters.map(([name, value]) => `${name.slice(name.indexOf('/') + 1)}=${describeValue(value)}`).join(' '),
  ]);
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

/** Returns a parameter's value as a person reads it; null leaves what the original config has. */
export function describeValue(value: ParameterValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export const describeLevel = (level: LoadLevel): string =>
  `${level.mode === 'concurrency' ? `concurrency ${formatFigure(level.value)}` : `${formatFigure(level.value)} requests/s`}${level.batch === undefined ? '' : `, batch ${level.batch}`}`;

/** Returns the level for a column: `64`, or `4×16` for 4 requests in flight of 16 samples. */
export const shortLevel = ({ value, batch }: Pick<LoadLevel, 'value' | 'batch'>): string =>
  `${formatFigure(value)}${batch === undefined ? '' : `×${batch}`}`;

/** Returns the constraint with its limit in the metric's unit: `gpu-memory <= 6,000 MiB`. */
export const describeConstraint = (
  { metric, relation, value }: Constraint,
  metrics: Metrics = builtInMetrics,
): string => `${metric} ${relation} ${metricText(metrics.named(metric), value)}`;

/** `throughput:10 and latency-p99:5`; without the weights if they are equal. */
export function describeObjectives(objectives: readonly Objective[]): string {
  const areAlike = objectives.every(({ weight }) => weight === objectives[0]?.weight);
  return objectives.map(({ metric, weight }) => (areAlike ? metric : `${metric}:${weight}`)).join(' and ');
}

const limitNames: Readonly<Record<keyof RequestLimits, string>> = {
  ttftNs: 'TTFT',
  itlNs: 'ITL',
  tpotNs: 'TPOT',
  e2eNs: 'latency',
};

/** Returns the limits of a good request: `TTFT ≤ 500 ms and ITL ≤ 50 ms`; '' without any. */
export const describeRequestLimits = (limits: RequestLimits): string =>
  (Object.keys(limitNames) as (keyof RequestLimits)[])
    .flatMap((name) => (limits[name] === undefined ? [] : [`${limitNames[name]} ≤ ${formatMs(nsToMs(limits[name]))}`]))
    .join(' and ');

/**
 * Returns the objectives as words that follow a gain, such as `by latency-p99`; empty for
 * throughput alone.
 */
export function describeGainIn(objectives: readonly Objective[]): string {
  const isBare = objectives.every(({ metric }) => metric === 'throughput');
  return isBare ? '' : ` by ${describeObjectives(objectives)}`;
}

/**
 * `meets p99 ≤ 20 ms at concurrency 64 (93 % likely, 8 % headroom); 90 % likely up to 66, 99 %
 * likely up to 56`, on the machine at its usual speed.
 */
export function describeRecommendation(
  recommendation: Recommendation,
  { percentile, latencyMs }: LatencyBudget,
  load: LoadLevel,
): string {
  const goal = `p${percentile} ≤ ${formatMs(latencyMs)} at ${describeLevel(load)}`;
  return `meets ${goal} (${likelyHere(recommendation)}); ${likelyLevels(recommendation, load)}`;
}

const likelyHere = ({ chance, margin }: Recommendation): string => {
  const room = toPercent(Math.abs(margin));
  return `${describeChance(chance)} likely, ${margin >= 0 ? `${room} headroom` : `${room} over the budget`}`;
};

function likelyLevels({ level, safeLevel, of }: Recommendation, load: LoadLevel): string {
  const unit = of === 'batch' ? 'batch' : 'level';
  if (level === null) return `no ${unit} is 90 % likely to meet it`;
  const reported = of === 'batch' ? load.batch : load.value;
  if (level === reported && safeLevel === level) return 'go no higher';
  const upTo = (one: number): string => `up to ${of === 'batch' ? 'batch ' : ''}${formatFigure(one)}`;
  return `90 % likely ${upTo(level)}, 99 % likely ${safeLevel === null ? `at no ${unit}` : upTo(safeLevel)}`;
}

/** The same in less space: `93 % likely, 8 % headroom; 90 % likely up to 66, 99 % up to 56`. */
export function describeRecommendationShort(recommendation: Recommendation): string {
  const { level, safeLevel, of } = recommendation;
  const at = (one: number | null): string =>
    one === null ? 'none' : `${of === 'batch' ? 'batch ' : ''}${formatFigure(one)}`;
  return `${likelyHere(recommendation)}; 90 % likely up to ${at(level)}, 99 % to ${at(safeLevel)}`;
}

/** Never a certainty: it comes from a curve. */
export function describeChance(chance: number): string {
  if (chance > MAX_CERTAIN) return 'over 99 %';
  return chance < 1 - MAX_CERTAIN ? 'under 1 %' : toPercent(chance);
}

const MAX_CERTAIN = 0.99;
const toPercent = (share: number): string => `${Math.round(100 * share)} %`;

/** Describes a change of the machine's speed, which is relative to that in the first minute. */
export function describeSpeedChange({ speed: { value: speed }, gpu }: Pick<SpeedChange, 'speed' | 'gpu'>): string {
  const now =
    Math.abs(speed - 1) < ABOUT_ONE
      ? 'the machine is back at its initial speed'
      : `the machine is running at ${describeSpeedShare(speed)} of its initial speed`;
  return `${now}${gpu ? `, ${describeGpuCause(gpu)}` : ''}; comparisons are normalised`;
}

/**
 * `as the clock of its GPU went from 1410 to 1120 MHz, at 298 W`, or `as python began to use its
 * GPU too`.
 */
export function describeGpuCause(cause: GpuCause): string {
  if ('programs' in cause)
    return `as ${listed(cause.programs)} ${cause.have === 'begun' ? 'began to use its GPU too' : 'left its GPU'}`;
  const { fromMhz, toMhz, powerW } = cause;
  const power = powerW === undefined ? '' : `, at ${formatFigure(powerW)} W`;
  return `as the clock of its GPU went from ${Math.round(fromMhz)} to ${Math.round(toMhz)} MHz${power}`;
}

const ABOUT_ONE = 0.03;

/** `79 %`, of the speed in the first minute. */
export const describeSpeedShare = (speed: number): string => `${Math.round(100 * speed)} %`;

/**
 * `1,190 infer/s, p99 26 ms (queueing model, from the other trials' 12 measurements)`, and whatever
 * none of them had. A prediction is at the machine's usual speed, as the figures that are compared.
 */
export function describePrediction(
  { throughput, budgetLatencyMs: { percentile, value }, from, quality, extrapolates }: Prediction,
  unit: RateUnit = 'infer/s',
): string {
  const guess = extrapolates.length > 0 ? `; none had ${extrapolates.map((each) => unseen[each]).join(' or ')}` : '';
  const basis = `queueing model, from the other trials' ${from} measurement${from === 1 ? '' : 's'}${guess}${quality.isGood ? '' : `; it ${quality.words}`}`;
  return `${formatRate(throughput, unit)}, p${percentile} ${formatMs(value)} (${basis})`;
}

const unseen: Readonly<Record<Prediction['extrapolates'][number], string>> = {
  instances: 'so many instances',
  'batch size': 'batches so large',
  variant: 'its other settings',
};

/** `1,235 infer/s (95 %: 1,200 to 1,270)`. */
export function describeThroughput(
  { value, low, high }: Record<'value' | 'low' | 'high', number | null>,
  unit: RateUnit = 'infer/s',
): string {
  const interval = `${formatFigure(low ?? Number.NaN)} to ${formatFigure(high ?? Number.NaN)}`;
  return `${formatRate(value ?? Number.NaN, unit)} (95 %: ${interval})`;
}

/**
 * `66.6 tokens/s (95 %: 60.1 to 73.1), p99 TTFT 63.9 ms, p99 ITL 57.9 ms`; `at`: the level, behind
 * the rate.
 */
export function describeTokens({ outputTokensPerSecond, budget }: TokenPoint, percentile: number, at = ''): string {
  const [value, low, high] = [outputTokensPerSecond.value, outputTokensPerSecond.low, outputTokensPerSecond.high].map(
    (each) => formatFigure(each ?? Number.NaN),
  );
  const [ttft, itl] = [budget.ttftMs, budget.itlMs].map(({ value: ms }) => formatMs(ms ?? Number.NaN));
  return `${value} tokens/s (95 %: ${low} to ${high})${at}, p${percentile} TTFT ${ttft}, p${percentile} ITL ${itl}`;
}

/** `goodput 2.5 requests/s (95 %: 2.4 to 2.6)`. */
export function describeGoodput({ value, low, high }: Record<'value' | 'low' | 'high', number | null>): string {
  const [rate, from, to] = [value, low, high].map((each) => formatFigure(each ?? Number.NaN));
  return `goodput ${rate} requests/s (95 %: ${from} to ${to})`;
}

/** `76 % (95 %: 72 % to 80 %)`. */
export function describeShare({ ratio, low, high }: Record<'ratio' | 'low' | 'high', number | null>): string {
  const percent = (share: number | null): string => `${((share ?? Number.NaN) * 100).toFixed(0)} %`;
  return `${percent(ratio)} (95 %: ${percent(low)} to ${percent(high)})`;
}

/** The least gain of one more instance that counts. */
export const MIN_INSTANCE_GAIN = 1.02;

/**
 * Returns which model holds the others back and the effect of one more instance of it, by the
 * performance model.
 */
export function describeBottleneck({ stage, utilization, gain, device }: Omit<Bottleneck, 'trial'>): string {
  const busy = `${Math.round(100 * utilization)} % busy`;
  if (gain >= MIN_INSTANCE_GAIN)
    return `${stage} is the bottleneck (${busy}); one more instance is expected to give ${formatChange(gain)} at the same load`;
  return device === undefined
    ? 'one more instance of any model is expected to give nothing at the same load'
    : `${describeFullDevice(device)}: one more instance of any gives nothing`;
}

/** `the GPU that the models share is used up`. */
export const describeFullDevice = (device: string): string =>
  `the ${device.split(' ')[0]?.toUpperCase()} that the models share is used up`;

/** `+49.8 %`. */
export const formatChange = (ratio: number): string => `+${formatFigure(100 * (ratio - 1))} %`;

/** Returns a server's name, with its version if known. */
export const describeServer = ({ name, version }: { readonly name: string; readonly version: string }): string =>
  version === '' ? name : `${name} ${version}`;
