import { formatDuration, formatFigure, formatMs } from '#base/format.ts';
import { describeFailed, describeTooManyFailed, type FailedRequests } from '#profiler/failed-requests.ts';
import type { Interval } from '#stats/interval.ts';
import { relativeHalfWidth } from '#stats/precision.ts';
import { describeAmount } from '#study/summary/cost-point.ts';
import { MIN_READINGS } from './bisect.ts';
import type { CapacityDocument } from './document-schema.ts';
import type { CapacityPart } from './state.ts';

/** No share is known more exactly. */
const MIN_SHARE = 1e-5;

/** Figures of a run as text, the same in lines and on pages. */
export const rateText = (perSecond: number): string => `${formatFigure(perSecond)} requests/s`;
export const shareText = (share: number): string =>
  share > 0 && share < MIN_SHARE ? `under ${100 * MIN_SHARE} %` : `${Number((share * 100).toPrecision(3))} %`;
export const rangeText = ({ low, high }: Interval): string => `${formatFigure(low)} to ${formatFigure(high)}`;

const cutParts = {
  search: 'the search ended there',
  answer: 'the measurement at the capacity was cut short or left out',
  beyond: 'the rates beyond it were cut short or left out',
  burst: 'the search for a burst ended there',
} as const satisfies Record<CapacityPart, string>;

/** Returns a probability without digits that it does not have: `over 99 %`, `under 1 %`, `87 %`. */
export function chanceText(chance: number): string {
  if (chance < 0.01) return 'under 1 %';
  return chance > 0.99 ? 'over 99 %' : `${Math.round(100 * chance)} %`;
}

type Limit = CapacityDocument['limit'];

/** Returns the one word for what a rate must meet. */
export const limitName = ({ budgetMs }: Limit): string => (budgetMs === null ? 'limits' : 'budget');
/** Returns the name of the share of requests that miss it: `over budget`. */
export const overText = ({ budgetMs }: Limit): string => (budgetMs === null ? 'over the limits' : 'over budget');
export const metText = (isMet: boolean): string => (isMet ? 'met' : 'missed');

/**
 * Returns what the time was too short for:
 * `the time (--time-budget, 15 s) was up: the search ended there`.
 */
export const cutText = (parts: readonly CapacityPart[], mostSeconds: number): string =>
  `the time (--time-budget, ${formatDuration(mostSeconds)}) was up: ${parts.map((part) => cutParts[part]).join('; ')}`;

/** Returns the budget or the limits in words: `p99 within 50 ms`. */
export const limitText = ({ percentile, budgetMs, limits }: CapacityDocument['limit']): string =>
  budgetMs === null ? `${percentile} % of requests within ${limits}` : `p${percentile} within ${formatMs(budgetMs)}`;

/** Returns the answer in one sentence. */
export function verdictText(document: CapacityDocument): string {
  const { outcome, capacity, limit, atLeast } = document;
  const target = limitText(limit);
  const failed = failedText(document);
  switch (outcome) {
    case 'infeasible':
      return failed ? `no rate can be served: ${failed}` : `no rate meets ${target}`;
    case 'client-limited':
      return atLeast === null
        ? `unknown capacity: the load generator was the limit before ${target} could be tested`
        : `capacity of at least ${rateText(atLeast)} with ${target}: the load generator was the limit beyond it`;
    default: {
      if (!capacity) return unknownText(document, target);
      const known = `capacity ${formatFigure(capacity.value)} requests/s (${rangeText(capacity)}) with ${target}`;
      const text = failed ? `${known}; beyond it ${failed}` : known;
      return outcome === 'found' ? text : `${text}; ${unsureText(document, capacity)}`;
    }
  }
}

/** A measured rate, as far as failures at it are concerned. */
interface Failing extends FailedRequests {
  readonly perSecond: number;
  readonly percentileMs: Interval | null;
  readonly errorRate: number;
}

/**
 * Returns how many requests failed at the lowest rate that only failures, not latency, kept from
 * the limit; null if there is none.
 */
export function failedText({
  limit: { percentile, budgetMs },
  probes,
}: {
  readonly limit: Pick<CapacityDocument['limit'], 'percentile' | 'budgetMs'>;
  readonly probes: readonly Failing[];
}): string | null {
  const allowed = 1 - percentile / 100;
  const isInTime = ({ percentileMs }: Failing): boolean =>
    percentileMs === null || budgetMs === null || percentileMs.value <= budgetMs;
  const failing = probes.filter((probe) => probe.errorRate > allowed && isInTime(probe));
  const [lowest] = failing.toSorted((a, b) => a.perSecond - b.perSecond);
  return lowest ? describeTooManyFailed(lowest, allowed) : null;
}

/** Returns why an estimate is no result: the interval alone does not say it. */
function unsureText({ outcome, precision, probes }: CapacityDocument, capacity: Interval): string {
  if (outcome === 'interrupted') return 'the run was interrupted';
  if (relativeHalfWidth(capacity) > precision) return `less precise than ±${shareText(precision)}`;
  const sides = new Set(probes.map(({ isKept }) => isKept));
  return sides.size < 2 || probes.length < MIN_READINGS ? 'from too few measurements' : 'its measurements disagree';
}

function unknownText(document: CapacityDocument, target: string): string {
  const { outcome, probes, cutShort } = document;
  const unknown = 'the capacity is unknown';
  if (outcome === 'interrupted') return `${unknown}: the run was interrupted`;
  if (probes.length > 1) {
    const lowest = Math.min(...probes.map(({ perSecond }) => perSecond));
    const failed = failedText(document);
    if (failed) return `${unknown}: at ${rateText(lowest)}, the lowest rate that was tried, ${failed}`;
    return `${unknown}: even ${rateText(lowest)}, the lowest rate that was tried, missed ${target}`;
  }
  return cutShort?.includes('search') ? `${unknown}: the time was up too early` : unknown;
}

type Point = NonNullable<CapacityDocument['at']>;

/** Returns the figures at a rate in words. */
export function pointText({ limit }: CapacityDocument, point: Point): string {
  const { percentileMs, p50Ms, badShare, errorRate } = point;
  const named = percentileMs ? `p${limit.percentile} ${formatMs(percentileMs.value)}` : 'no reply';
  const failed = errorRate > 0 ? `, ${describeFailed(point)}` : '';
  return `p50 ${formatMs(p50Ms)}, ${named}, ${shareText(badShare)} ${overText(limit)}${failed}`;
}

/** Returns what happened beyond the capacity in words. */
export function cliffText(document: CapacityDocument, point: CapacityDocument['cliff'][number]): string {
  const growth = point.growthMsPerSecond;
  const isGrowing = growth !== null && point.servedPerSecond < BEHIND * point.perSecond;
  const grows = isGrowing ? `, growing by ${formatMs(Math.max(0, growth))} each second` : '';
  return `${pointText(document, point)} in ${formatDuration(point.seconds)}${grows}`;
}

/** If less than this share of a rate is served, the queue grows. */
const BEHIND = 0.99;

/** Returns the result of a burst in words. */
export function burstText(burst: NonNullable<CapacityDocument['burst']>): string {
  const { factor, seconds, recoverSeconds, basePerSecond } = burst;
  const what = `a burst of ${factor}× for ${formatDuration(seconds)}`;
  if (!basePerSecond) return `${what}: not found`;
  const how =
    recoverSeconds === null ? 'served within the budget' : `recovered from within ${formatDuration(recoverSeconds)}`;
  return `${what} is ${how} on a base rate of up to ${rateText(basePerSecond.value)} (${rangeText(basePerSecond)})`;
}

/** Returns the required number of replicas in words. */
export function replicasText({
  perSecond,
  headroom,
  chance,
  replicas,
}: NonNullable<CapacityDocument['replicas']>): string {
  const free = headroom > 0 ? ` with ${shareText(headroom)} headroom` : '';
  return replicas === null
    ? `no number of replicas is ${shareText(chance)} likely to serve ${rateText(perSecond)}${free}`
    : `${rateText(perSecond)}${free} need ${replicas} replica${replicas === 1 ? '' : 's'} (${shareText(chance)} likely to suffice)`;
}

type Gpus = NonNullable<CapacityDocument['gpus']>;

/**
 * Returns what each GPU serves in words:
 * `154 requests/s (150 to 158) and 12,300 output tokens/s for each of 4 GPUs`.
 */
export function gpusText({ count, requestsPerSecond, outputTokensPerSecond }: Gpus): string {
  const tokens = outputTokensPerSecond ? ` and ${formatFigure(outputTokensPerSecond.value)} output tokens/s` : '';
  const each = `${rateText(requestsPerSecond.value)} (${rangeText(requestsPerSecond)})${tokens}`;
  return `${each} for each of ${formatFigure(count)} GPUs`;
}

type Cost = NonNullable<CapacityDocument['cost']>;

/**
 * Returns what serving at the capacity costs in words:
 * `3.20 USD an hour for 4 × L4; 1.44 USD for a million inferences (1.40 to 1.49)`.
 */
export function costText(
  { currency, name, per, perHour, perMillion, perMillionTokens }: Cost,
  gpus: CapacityDocument['gpus'],
): string {
  const what = per === 'gpu' && gpus ? `${gpus.count} × ${name}` : name;
  const [each, counted] = perMillionTokens ? [perMillionTokens, 'output tokens'] : [perMillion, 'inferences'];
  return `${describeAmount(perHour, currency)} an hour for ${what}; ${describeAmount(each.value, currency)} for a million ${counted} at the capacity (${rangeText(each)})`;
}

/**
 * Returns what the asked rate costs in words; null without a rate, or if no number of replicas
 * holds it.
 */
export function rateCostText({ currency, forRate }: Cost, replicas: CapacityDocument['replicas']): string | null {
  if (!forRate || !replicas) return null;
  const { perHour, perMillion } = forRate;
  return `${rateText(replicas.perSecond)} cost ${describeAmount(perHour, currency)} an hour, ${describeAmount(perMillion, currency)} for a million requests`;
}
