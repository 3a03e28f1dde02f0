import { formatFigure, formatMs } from '#base/format.ts';
import type { CapacityDocument } from '#capacity/document-schema.ts';
import { limitText, overText, rangeText, rateText, shareText } from '#capacity/words.ts';
import { describeAmount } from '#study/summary/cost-point.ts';
import { type Html, none } from './html.ts';
import { type Card, cardsHtml } from './page/first-cards.ts';

/**
 * Returns the figures that a reader needs first: the capacity, what requests see at it, and what it
 * means for the hardware or the rate.
 */
export function capacityCards(document: CapacityDocument): Html {
  const cards = [capacityCard(document), atCard(document), serversCard(document)].flatMap((card) => card ?? []);
  return cards.length === 0 ? none : cardsHtml(cards);
}

function capacityCard({ capacity, atLeast, limit, outcome }: CapacityDocument): Card | null {
  const target = limitText(limit);
  if (capacity) {
    const tone = outcome === 'found' ? 'good' : 'unsure';
    return { name: 'capacity', value: rateText(capacity.value), notes: [`95 %: ${rangeText(capacity)}`, target], tone };
  }
  if (outcome === 'infeasible')
    return { name: 'capacity', value: 'none', notes: [`no rate meets ${target}`], tone: 'bad' };
  return atLeast === null
    ? null
    : { name: 'capacity', value: `at least ${rateText(atLeast)}`, notes: [target], tone: 'unsure' };
}

function atCard({ at, limit }: CapacityDocument): Card | null {
  if (!at?.percentileMs) return null;
  return {
    name: `at ${rateText(at.perSecond)}`,
    value: `p${limit.percentile} ${formatMs(at.percentileMs.value)}`,
    notes: [
      `95 %: ${rangeText(at.percentileMs)} ms`,
      `p50 ${formatMs(at.p50Ms)}`,
      `${shareText(at.badShare)} ${overText(limit)}`,
    ],
    tone: 'plain',
  };
}

/** Replicas if a rate was asked for, or else what each GPU serves. */
function serversCard({ replicas, gpus, cost }: CapacityDocument): Card | null {
  if (replicas) {
    const price = cost?.forRate ? [`${describeAmount(cost.forRate.perHour, cost.currency)} an hour`] : [];
    const each = gpus && gpus.count > 1 ? [`of ${formatFigure(gpus.count)} GPUs each`] : [];
    return {
      name: `for ${rateText(replicas.perSecond)}`,
      value:
        replicas.replicas === null
          ? 'no number'
          : `${formatFigure(replicas.replicas)} replica${replicas.replicas === 1 ? '' : 's'}`,
      notes: [...each, `${shareText(replicas.chance)} likely to suffice`, ...price],
      tone: replicas.replicas === null ? 'bad' : 'plain',
    };
  }
  // One GPU alone serves what the server does.
  if (!gpus || (gpus.count === 1 && !gpus.outputTokensPerSecond && !cost)) return null;
  const { count, requestsPerSecond, outputTokensPerSecond } = gpus;
  const tokens = outputTokensPerSecond ? [`${formatFigure(outputTokensPerSecond.value)} output tokens/s`] : [];
  const price = cost ? [`${describeAmount(cost.perMillion.value, cost.currency)} for a million inferences`] : [];
  return {
    name: count === 1 ? 'on its GPU' : `on each of ${formatFigure(count)} GPUs`,
    value: rateText(requestsPerSecond.value),
    notes: [...tokens, ...price],
    tone: 'plain',
  };
}
