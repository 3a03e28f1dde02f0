import { formatDuration, formatFigure, formatMs } from '../base/format.ts';
import type { Interval } from '../stats/interval.ts';
import type { CapacityDocument } from './document-schema.ts';

/** Figures of a run as text, the same in lines and on pages. */
export const rateText = (perSecond: number): string => `${formatFigure(perSecond)} requests/s`;
export const shareText = (share: number): string => `${Number((share * 100).toPrecision(3))} %`;
export const rangeText = ({ low, high }: Interval): string => `${formatFigure(low)} to ${formatFigure(high)}`;

/** Returns the budget or the limits in words: `p99 within 50 ms`. */
export const limitText = ({ percentile, budgetMs, limits }: CapacityDocument['limit']): string =>
  budgetMs === null ? `${percentile} % of requests within ${limits}` : `p${percentile} within ${formatMs(budgetMs)}`;

/** Returns the answer in one sentence. */
export function verdictText(document: CapacityDocument): string {
  const { outcome, capacity, limit, atLeast, precision } = document;
  const kept = limitText(limit);
  switch (outcome) {
    case 'infeasible':
      return `no rate keeps ${kept}`;
    case 'client-limited':
      return atLeast === null
        ? `unknown capacity: the load generator was the limit before ${kept} could be tested`
        : `capacity of at least ${rateText(atLeast)} with ${kept}: the load generator could not send more`;
    default: {
      if (!capacity) return 'the capacity is unknown';
      const text = `capacity ${formatFigure(capacity.value)} requests/s (${rangeText(capacity)}) with ${kept}`;
      const end = outcome === 'interrupted' ? 'the run was interrupted' : `less precise than ±${shareText(precision)}`;
      return outcome === 'found' ? text : `${text}; ${end}`;
    }
  }
}

type Point = NonNullable<CapacityDocument['at']>;

/** Returns the figures at a rate in words. */
export function pointText({ limit }: CapacityDocument, { percentileMs, p50Ms, badShare, errorRate }: Point): string {
  const named = percentileMs ? `p${limit.percentile} ${formatMs(percentileMs.value)}` : 'no reply';
  const failed = errorRate > 0 ? `, ${shareText(errorRate)} failed or not sent` : '';
  return `p50 ${formatMs(p50Ms)}, ${named}, ${shareText(badShare)} over the limit${failed}`;
}

/** Returns what happened beyond the capacity in words. */
export function cliffText(document: CapacityDocument, point: CapacityDocument['cliff'][number]): string {
  const isGrowing = point.servedPerSecond < BEHIND * point.perSecond;
  const grows = isGrowing ? `, growing by ${formatMs(Math.max(0, point.growthMsPerSecond))} each second` : '';
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
    recoverSeconds === null ? 'kept within the limit' : `recovered from within ${formatDuration(recoverSeconds)}`;
  return `${what} is ${how} on a base rate of up to ${rateText(basePerSecond.value)} (${rangeText(basePerSecond)})`;
}

/** Returns the required number of replicas in words. */
export function replicasText({
  perSecond,
  headroom,
  chance,
  replicas,
}: NonNullable<CapacityDocument['replicas']>): string {
  const free = headroom > 0 ? ` with ${shareText(headroom)} kept free` : '';
  return replicas === null
    ? `no number of replicas keeps the limit at ${rateText(perSecond)}${free} with a chance of ${shareText(chance)}`
    : `${rateText(perSecond)}${free} need ${replicas} replica${replicas === 1 ? '' : 's'} (chance ${shareText(chance)})`;
}
