import { formatFigure, formatRate, type RateUnit } from '#base/format.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Candidate } from '#space/types.ts';
import { timesInterval } from '#stats/interval.ts';
import { chanceToHold } from '#stats/replicas.ts';
import { instanceTypeCosts } from '../goal/instance-types.ts';
import { toMetrics } from '../goal/metrics/registry.ts';
import type { CostTerms } from '../records/goal-schema.ts';
import type { Goal, Objective } from '../types.ts';
import type { CostPoint, InstanceTypeCost } from './point-schema.ts';

type Figure = number | null;
type Figures = CostPoint['perHour'];

/**
 * Returns the cost of a config; undefined if the goal has no prices, or the candidate no price by
 * them.
 */
export function toCostPoint(goal: Goal, measurement: Measurement, candidate: Candidate): CostPoint | undefined {
  const { cost } = goal;
  if (!cost) return undefined;
  const metrics = toMetrics(goal);
  const read = (name: string): Figure => metrics.read(name, measurement, candidate) ?? null;
  const figures = (name: string): Figures => {
    const value = read(name);
    const interval = metrics.named(name).interval?.of(measurement, candidate);
    return { value, low: interval ? figure(interval.low) : value, high: interval ? figure(interval.high) : value };
  };
  const perHour = figures('cost-per-hour');
  if (perHour.value === null && cost.forRate === undefined) return undefined;
  const gpus = read('gpus');
  const replicas = cost.forRate === undefined ? null : figures('replicas');
  return {
    currency: cost.currency,
    name: cost.name,
    per: cost.per,
    gpus,
    perHour,
    ...(gpus !== null && gpus > 0 && computePerGpu(measurement, gpus)),
    perMillion: figures('cost-per-million'),
    ...(measurement.tokens && { perMillionTokens: figures('cost-per-million-tokens') }),
    ...(replicas && servedFor(goal, cost, measurement, candidate, replicas)),
    ...(gpus !== null && gpus > 0 && onTypes(cost, measurement, gpus, replicas?.value ?? null)),
  };
}

const computePerGpu = (
  { throughput, tokens }: Measurement,
  gpus: number,
): Pick<CostPoint, 'throughputPerGpu' | 'tokensPerGpu'> => ({
  throughputPerGpu: timesInterval(throughput, 1 / gpus),
  ...(tokens && { tokensPerGpu: timesInterval(tokens.outputTokensPerSecond, 1 / gpus) }),
});

function onTypes(
  { instanceTypes = [] }: CostTerms,
  { throughput, tokens }: Measurement,
  gpus: number,
  replicas: number | null,
): Pick<CostPoint, 'instanceTypes'> {
  const tokensPerSecond = tokens?.outputTokensPerSecond ?? null;
  const costs = instanceTypeCosts(instanceTypes, { gpus, perSecond: throughput, tokensPerSecond, replicas });
  return costs.length > 0 ? { instanceTypes: costs } : {};
}

function servedFor(
  goal: Goal,
  { forRate, headroom }: CostTerms,
  measurement: Measurement,
  candidate: Candidate,
  replicas: Figures,
): Pick<CostPoint, 'forRate' | 'replicas' | 'load' | 'chance'> {
  const { follows } = toMetrics(goal).named('replicas');
  const counted = follows?.counted(measurement);
  const smooth = counted && follows?.smooth?.(counted, candidate, measurement.device);
  const many = replicas.value;
  const isOfAll = typeof forRate === 'number' && many !== null;
  return {
    forRate,
    replicas,
    load: many === null || smooth === undefined ? null : smooth / many,
    chance: isOfAll ? figure(chanceToHold(many, forRate, measurement.throughput, headroom)) : null,
  };
}

const figure = (value: number): Figure => (Number.isFinite(value) ? value : null);

/** Returns an amount for people: `2.40 USD`, `0.0312 USD`. */
export function describeAmount(value: Figure, currency: string): string {
  if (value === null) return '–';
  const text = value >= 1 && value < 1000 ? value.toFixed(2) : formatFigure(value);
  return `${text} ${currency}`;
}

/**
 * `2.40 USD an hour for 2,000 infer/s: 3 replicas of 1 × L4, 92 % used; 0.290 USD for a million
 * inferences (95 %: 0.284 to 0.296)`.
 */
export function describeCost(
  { currency, gpus, name, per, perHour, ...more }: CostPoint,
  unit: RateUnit = 'infer/s',
): string {
  const of = per === 'gpu' && gpus !== null ? `${gpus} × ${name}` : name;
  const { replicas, forRate, load, perMillion, perMillionTokens, throughputPerGpu } = more;
  const used = load == null ? '' : `, ${Math.round(100 * load)} % used`;
  const perGpu =
    gpus !== null && gpus > 1 && throughputPerGpu
      ? `, ${formatRate(throughputPerGpu.value ?? Number.NaN, unit)} for each GPU`
      : '';
  const many = replicas?.value ?? null;
  const servers =
    forRate === undefined
      ? ` for ${of}`
      : ` for ${describeRate(forRate, unit)}: ${many === null ? 'no number of replicas holds it' : `${many} replica${many === 1 ? '' : 's'} of ${of}${used}`}`;
  const [each, what] = perMillionTokens
    ? [perMillionTokens, 'output tokens']
    : [perMillion, unit === 'infer/s' ? 'inferences' : 'requests'];
  const range =
    each.low !== each.high
      ? ` (95 %: ${formatFigure(each.low ?? Number.NaN)} to ${formatFigure(each.high ?? Number.NaN)})`
      : '';
  return `${describeAmount(perHour.value, currency)} an hour${servers}${perGpu}; ${describeAmount(each.value, currency)} for a million ${what}${range}`;
}

/**
 * `four-l4 (4 GPUs) holds 4 replicas: 0.38 USD for a million inferences; 1 of them for the rate,
 * 4.20 USD an hour`.
 */
export function describeInstanceType(
  { name, gpus, holds, perMillion, perMillionTokens, forRate }: InstanceTypeCost,
  currency: string,
): string {
  const [each, what] = perMillionTokens ? [perMillionTokens, 'output tokens'] : [perMillion, 'inferences'];
  const needed = forRate
    ? `; ${forRate.instances} of them for the rate, ${describeAmount(forRate.perHour, currency)} an hour`
    : '';
  const [ofGpus, ofReplicas] = [gpus === 1 ? '1 GPU' : `${gpus} GPUs`, holds === 1 ? '1 replica' : `${holds} replicas`];
  return `${name} (${ofGpus}) holds ${ofReplicas}: ${describeAmount(each.value, currency)} for a million ${what}${needed}`;
}

/** `2,000 infer/s`, or `a 1,500 and b 500 infer/s`. */
export const describeRate = (forRate: NonNullable<CostTerms['forRate']>, unit: RateUnit = 'infer/s'): string =>
  typeof forRate === 'number'
    ? formatRate(forRate, unit)
    : `${Object.entries(forRate)
        .map(([model, rate]) => `${model} ${formatFigure(rate)}`)
        .join(' and ')} ${unit}`;

/** True if a gain is in cost alone. People state such a gain as a share of the earlier cost. */
export const isInCost = (objectives: readonly Objective[]): boolean =>
  objectives.length > 0 && objectives.every(({ metric }) => metric.startsWith('cost-per-'));

/** Returns a gain in cost as the remaining share: `0.62 of the original's cost`. */
export const describeCostShare = (ratio: number | null): string => `${shareText(ratio)} of the original's cost`;

/** Returns the share alone, to two decimals. */
export const shareText = (ratio: number | null): string =>
  ratio === null || !(ratio > 0) ? '–' : (1 / ratio).toFixed(2);
