import { NS_PER_S } from '../base/units.ts';
import { rateCurve } from '../workload/plan/rate-curve.ts';
import { findDuration, type Phase, type Workload } from '../workload/workload.ts';

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
  const perSecond = Array.from({ length: steps }, () => 0);
  let startS = 0;
  for (const phase of workload.phases) {
    for (let step = Math.floor(startS / stepSeconds); step < steps; step++) {
      const from = Math.max(0, step * stepSeconds - startS);
      const to = Math.min(phase.durationS, (step + 1) * stepSeconds - startS);
      if (to <= from) break;
      perSecond[step] = (perSecond[step] as number) + countBetween(phase, from, to) / stepSeconds;
    }
    startS += phase.durationS;
  }
  return { name: workload.name, stepSeconds, perSecond };
}

function countBetween({ arrivals, durationS }: Phase, fromS: number, toS: number): number {
  if (arrivals.process === 'trace') {
    return arrivals.timesNs.filter((timeNs) => timeNs >= fromS * NS_PER_S && timeNs < toS * NS_PER_S).length;
  }
  const curve = rateCurve(arrivals, durationS);
  return curve.until(toS) - curve.until(fromS);
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
