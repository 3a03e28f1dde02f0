import { formatDuration, formatMs, plainLine } from '#base/format.ts';
import type { CapacityDocument } from '#capacity/document-schema.ts';
import type { CapacityEvent } from '#capacity/means.ts';
import { allowedShare, type CapacityLimit } from '#capacity/reading.ts';
import {
  burstText,
  chanceText,
  cliffText,
  costText,
  gpusText,
  metText,
  shareText as percent,
  pointText,
  rangeText,
  rateText as rate,
  rateCostText,
  replicasText,
  verdictText,
} from '#capacity/words.ts';
import { countFailedRequests, describeTooManyFailed } from '#profiler/failed-requests.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Interval } from '#stats/interval.ts';
import { describeInstanceType } from '#study/summary/cost-point.ts';
import { scalingLines } from './scaling-lines.ts';

/** The output for an event: the current activity, or a permanent line. */
export interface EventLine {
  readonly kind: 'doing' | 'done';
  readonly text: string;
}

/** Returns the output for an event during the search for a capacity. */
export function eventLine(event: CapacityEvent, limit: CapacityLimit): EventLine {
  switch (event.type) {
    case 'closed-loop': {
      const { level, budgetLatencyMs } = event.measurement;
      const what = `${rate(event.perSecond)}, p${limit.percentile} ${formatMs(budgetLatencyMs.value)}`;
      return done(`closed loop of ${level.value}: ${what}`);
    }
    case 'trying':
      return doing(`trying ${rate(event.perSecond)}`);
    case 'tried':
      return done(triedLine(event.measurement, event.isKept, event.interval, limit));
    case 'client-limit': {
      const then = event.again ? 'measuring again' : 'the search ends here';
      return done(`${rate(event.perSecond)}: the load generator was the limit (${event.reason}); ${then}`);
    }
    case 'at-capacity':
      return doing(`measuring at the capacity, ${rate(event.perSecond)}`);
    case 'beyond':
      return doing(
        `measuring beyond it: ${rate(event.perSecond)} (${event.factor}×) for ${formatDuration(event.seconds)}`,
      );
    case 'burst':
      return doing(`playing a burst on a base rate of ${rate(event.perSecond)}`);
    case 'burst-played': {
      const { value } = event.load.measurement.budgetLatencyMs;
      return done(
        `burst on ${rate(event.perSecond)}: p${limit.percentile} ${formatMs(value)}, ${metText(event.isKept)}`,
      );
    }
  }
}

const doing = (text: string): EventLine => ({ kind: 'doing', text });
const done = (text: string): EventLine => ({ kind: 'done', text });

function triedLine(measurement: Measurement, isKept: boolean, interval: Interval | null, limit: CapacityLimit): string {
  const { level, budgetLatencyMs, badShare } = measurement;
  const figure =
    limit.kind === 'latency'
      ? `p${limit.percentile} ${formatMs(budgetLatencyMs.value)}`
      : `${percent(1 - (badShare?.value ?? 1))} good`;
  const failed = describeTooManyFailed(countFailedRequests(measurement), allowedShare(limit));
  const verdict = isKept || failed === null ? metText(isKept) : `${metText(isKept)}: ${failed}`;
  const narrowed = interval ? `  → capacity ${rangeText(interval)}` : '';
  return `${rate(level.value)}: ${figure}, ${verdict}${narrowed}`;
}

/** Returns the results as lines. */
export function capacityLines(document: CapacityDocument): string[] {
  const { at, saturation, cliff, burst, replicas, gpus, cost } = document;
  return [
    '',
    verdictText(document),
    ...(at ? [`  at ${rate(at.perSecond)}: ${pointText(document, at)}`] : []),
    ...(saturation
      ? [`  saturation: ${saturation.isReached ? '' : 'at least '}${rate(saturation.perSecond)}, ignoring latency`]
      : []),
    ...cliff.map((each) => `  ${each.factor.toFixed(2)}× (${rate(each.perSecond)}): ${cliffText(document, each)}`),
    ...(burst ? [`  ${burstText(burst)}`] : []),
    ...(gpus && gpus.count > 1 ? [`  ${gpusText(gpus)}`] : []),
    ...(replicas ? replicasLines(replicas) : []),
    ...(cost ? costLines(cost, document) : []),
    ...scalingLines(document.autoscalers ?? []).map((line) => `  ${line}`),
  ];
}

function costLines(cost: NonNullable<CapacityDocument['cost']>, document: CapacityDocument): string[] {
  const ofRate = rateCostText(cost, document.replicas);
  const { currency, instanceTypes } = cost;
  return [
    `  ${costText(cost, document.gpus ?? null)}`,
    ...(ofRate === null ? [] : [`  ${ofRate}`]),
    ...instanceTypes.map((type) => `    ${describeInstanceType(type, currency)}`),
  ];
}

function replicasLines(replicas: NonNullable<CapacityDocument['replicas']>): string[] {
  return [
    `  ${replicasText(replicas)}`,
    ...replicas.table.map(
      (row) =>
        `    ${row.replicas} replica${row.replicas === 1 ? '' : 's'}: ${rate(row.perReplica)} each, ${chanceText(row.chance)} likely to suffice`,
    ),
  ];
}

/** Returns the caveats of the figures. */
export const capacityNotes = ({ notes }: CapacityDocument): readonly string[] =>
  notes.map((note) => plainLine(note, 300));
