import { type AutoscalerKind, autoscalers } from '#autoscale/autoscaler.ts';
import { chooseValues } from '#autoscale/choose-values.ts';
import { recordedTraffic } from '#autoscale/recorded-traffic.ts';
import { clairvoyantHours, simulateScaling } from '#autoscale/simulate-scaling.ts';
import { drawSeconds, scaleToPeak, type TrafficCurve } from '#autoscale/traffic-curve.ts';
import { completions, crowds, website } from './traffic-days.ts';

/**
 * Judges the values that `--emit` chooses: `npm run bench:autoscale`. They are chosen by one day of
 * a traffic, or by the first half of an hour, and played on the other days or on the second half.
 * Prints how often the limit did not hold, and replica-hours beside those of a clairvoyant.
 */

/** Requests per second of a replica; only the ratio to the peak counts. */
const CAPACITY = 200;
const HOLD_SHARE = 0.95;

const toCurve = (stepSeconds: number, counts: readonly number[]): TrafficCurve => ({
  name: '',
  stepSeconds,
  perSecond: counts.map((count) => count / stepSeconds),
});

function halve({ name, stepSeconds, perSecond }: TrafficCurve): readonly TrafficCurve[] {
  const middle = Math.floor(perSecond.length / 2);
  return [perSecond.slice(0, middle), perSecond.slice(middle)].map((part) => ({ name, stepSeconds, perSecond: part }));
}

const [firstWebsite, conversations] = recordedTraffic as readonly [TrafficCurve, TrafficCurve];
/** The first of each is what values are chosen by. */
const traffics: Readonly<Record<string, readonly TrafficCurve[]>> = {
  website: [firstWebsite, ...website.map((counts) => toCurve(300, counts))],
  conversations: halve(conversations),
  crowds: crowds.map((counts) => toCurve(60, counts)),
  completions: halve(toCurve(60, completions)),
};

const showShare = (share: number): string => `${(100 * share).toFixed(1)} %`;

console.log('autoscaler, replicas at the peak, start | traffic | target, least, down after | chosen by | judged on');
for (const kind of ['keda', 'knative'] satisfies AutoscalerKind[]) {
  for (const peakReplicas of [10, 50]) {
    for (const startSeconds of [15, 60, 180]) {
      const replica = {
        capacityPerSecond: CAPACITY,
        saturationPerSecond: 1.1 * CAPACITY,
        budgetSeconds: 0.05,
        startSeconds,
      };
      for (const [name, days] of Object.entries(traffics)) {
        const [first, ...others] = days.map((day) => scaleToPeak(day, peakReplicas * CAPACITY)) as [TrafficCurve];
        const wish = { holdShare: HOLD_SHARE, leastScaleDownSeconds: 0 };
        const { values, outcomes } = chooseValues([first], replica, autoscalers[kind], wish);
        const judged = (others as readonly TrafficCurve[]).map((day) => {
          const rates = drawSeconds(day);
          const { brokenShare, replicaHours } = simulateScaling(rates, replica, autoscalers[kind], values);
          return { brokenShare, replicaHours, clairvoyantHours: clairvoyantHours(rates, replica) };
        });
        const show = (each: (typeof judged)[number]): string =>
          `${showShare(each.brokenShare)} ${(each.replicaHours / each.clairvoyantHours).toFixed(2)}×`;
        console.log(
          [
            `${kind} ${peakReplicas} ${startSeconds} s`,
            name,
            `${(values.targetPerSecond / CAPACITY).toFixed(2)} ${values.minReplicas} ${values.scaleDownSeconds} s`,
            outcomes.map(show).join(''),
            judged.map(show).join(', '),
          ].join(' | '),
        );
      }
    }
  }
}
