import { NS_PER_S } from '#base/units.ts';
import { type RateCurve, rateCurve } from '#workload/plan/rate-curve.ts';
import { findDuration, type Workload } from '#workload/workload.ts';

/** The rate of requests over a time, as means of equal steps. */
export interface TrafficCurve {
  readonly name: string;
  readonly stepSeconds: number;
  /** At least one step. */
  readonly perSecond: readonly number[];
}

/** Autoscalers see means over a minute. */
const STEP_S = 60;
/** A shorter workload has this many steps. */
const MIN_STEPS = 60;

/** Returns the curve of a workload, whose random arrivals count as their mean rate. */
export function toTrafficCurve(workload: Workload): TrafficCurve {
  const seconds = findDuration(workload);
  const steps = Math.max(MIN_STEPS, Math.round(seconds / STEP_S));
  const stepSeconds = seconds / steps;
  const counts = new Float64Array(steps);
  let startS = 0;
  for (const { arrivals, durationS } of workload.phases) {
    const place = { stepSeconds, startS };
    if (arrivals.process === 'trace') addTrace(counts, arrivals.timesNs, place);
    else addRate(counts, rateCurve(arrivals, durationS), durationS, place);
    startS += durationS;
  }
  return { name: workload.name, stepSeconds, perSecond: Array.from(counts, (count) => count / stepSeconds) };
}

/** Where a phase lies among the steps. */
interface PhasePlace {
  readonly stepSeconds: number;
  readonly startS: number;
}

/** Adds the arrivals of a phase to the counts of the steps. `timesNs`: from the phase's start. */
function addTrace(counts: Float64Array, timesNs: Float64Array, { stepSeconds, startS }: PhasePlace): void {
  for (const timeNs of timesNs) {
    const step = Math.min(counts.length - 1, Math.floor((startS + timeNs / NS_PER_S) / stepSeconds));
    counts[step] = (counts[step] as number) + 1;
  }
}

function addRate(counts: Float64Array, curve: RateCurve, durationS: number, { stepSeconds, startS }: PhasePlace): void {
  for (let step = Math.floor(startS / stepSeconds); step < counts.length; step++) {
    const from = Math.max(0, step * stepSeconds - startS);
    const to = Math.min(durationS, (step + 1) * stepSeconds - startS);
    if (to <= from) break;
    counts[step] = (counts[step] as number) + curve.until(to) - curve.until(from);
  }
}

/** Returns the curve in proportion, with this rate in its busiest step. */
export function scaleToPeak(curve: TrafficCurve, peakPerSecond: number): TrafficCurve {
  const factor = peakPerSecond / Math.max(...curve.perSecond);
  return { ...curve, perSecond: curve.perSecond.map((rate) => rate * factor) };
}

/** Returns the rate in each second, linear between the middles of the steps. */
export function drawSeconds({ stepSeconds, perSecond }: TrafficCurve): Float64Array {
  const rates = new Float64Array(Math.max(1, Math.round(perSecond.length * stepSeconds)));
  for (let second = 0; second < rates.length; second++) {
    const place = (second + 0.5) / stepSeconds - 0.5;
    const before = Math.min(perSecond.length - 1, Math.max(0, Math.floor(place)));
    const after = Math.min(perSecond.length - 1, before + 1);
    const share = Math.min(1, Math.max(0, place - before));
    rates[second] = (perSecond[before] as number) * (1 - share) + (perSecond[after] as number) * share;
  }
  return rates;
}
