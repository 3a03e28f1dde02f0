import { NS_PER_S } from '#base/units.ts';
import type { ArrivalPlan } from './arrival-plan.ts';

/** A summary of a plan for people. Rates are in requests per second. */
export interface PlanFigures {
  readonly requests: number;
  readonly durationS: number;
  readonly meanPerSecond: number;
  /**
   * The maximum rate over any second, and over any ten seconds, in requests per second; null for a
   * plan that is no longer.
   */
  readonly peakOver1s: number | null;
  readonly peakOver10s: number | null;
  /**
   * Coefficient of variation of the gaps: 0 evenly spaced, 1 as in a Poisson process. null for
   * fewer than three requests.
   */
  readonly gapCv: number | null;
  /**
   * Index of dispersion of the counts in windows of `dispersionWindowS`, variance over mean: 1 as
   * in a Poisson process, more where the rate changes or requests come in bursts (Gusella, IEEE
   * Journal on Selected Areas in Communications 9, 1991). null for few windows or requests.
   */
  readonly dispersion: number | null;
  readonly dispersionWindowS: number;
  readonly classes: readonly WorkloadClassFigures[];
}

export interface WorkloadClassFigures {
  readonly name: string;
  readonly requests: number;
  readonly share: number;
  readonly meanPerSecond: number;
  readonly peakOver10s: number | null;
}

/**
 * Windows of a second are the most informative; a plan with fewer of them is cut into this many
 * shorter ones.
 */
const MIN_WINDOWS = 20;

/**
 * Summarises a plan. Takes time proportional to its requests, and memory for one class at a time.
 */
export function summarizeFigures({ arrivalsNs, classOf, classes, durationNs }: ArrivalPlan): PlanFigures {
  const requests = arrivalsNs.length;
  const durationS = durationNs / NS_PER_S;
  const dispersionWindowS = Math.min(1, durationS / MIN_WINDOWS);
  return {
    requests,
    durationS,
    meanPerSecond: requests / durationS,
    peakOver1s: peakOver(1, arrivalsNs, durationS),
    peakOver10s: peakOver(10, arrivalsNs, durationS),
    gapCv: gapCv(arrivalsNs),
    dispersion: dispersion(arrivalsNs, dispersionWindowS, durationS),
    dispersionWindowS,
    classes: classes.map((name, index): WorkloadClassFigures => {
      const classArrivalsNs = classes.length === 1 ? arrivalsNs : arrivalsNs.filter((_, at) => classOf[at] === index);
      return {
        name,
        requests: classArrivalsNs.length,
        share: classArrivalsNs.length / requests,
        meanPerSecond: classArrivalsNs.length / durationS,
        peakOver10s: peakOver(10, classArrivalsNs, durationS),
      };
    }),
  };
}

/** Requests per second of each class in this many equal parts of the plan. */
export function computeRates(
  { arrivalsNs, classOf, classes, durationNs }: ArrivalPlan,
  parts: number,
): readonly Float64Array[] {
  const rates = classes.map(() => new Float64Array(parts));
  const perRequest = (parts * NS_PER_S) / durationNs;
  for (let index = 0; index < arrivalsNs.length; index++) {
    const rate = rates[classOf[index] as number] as Float64Array;
    const part = Math.min(parts - 1, Math.floor(((arrivalsNs[index] as number) / durationNs) * parts));
    rate[part] = (rate[part] as number) + perRequest;
  }
  return rates;
}

function peakOver(windowS: number, arrivalsNs: Float64Array, durationS: number): number | null {
  if (durationS <= windowS) return null;
  // A nanosecond less, so that rounding does not add another evenly spaced arrival to the window.
  const windowNs = windowS * NS_PER_S - 1;
  let [most, first] = [0, 0];
  for (let last = 0; last < arrivalsNs.length; last++) {
    while ((arrivalsNs[last] as number) - (arrivalsNs[first] as number) >= windowNs) first++;
    most = Math.max(most, last - first + 1);
  }
  return most / windowS;
}

function gapCv(arrivalsNs: Float64Array): number | null {
  const gaps = arrivalsNs.length - 1;
  if (gaps < 2) return null;
  const mean = ((arrivalsNs.at(-1) as number) - (arrivalsNs[0] as number)) / gaps;
  let squares = 0;
  for (let index = 0; index < gaps; index++) {
    squares += ((arrivalsNs[index + 1] as number) - (arrivalsNs[index] as number) - mean) ** 2;
  }
  return mean > 0 ? Math.sqrt(squares / gaps) / mean : null;
}

function dispersion(arrivalsNs: Float64Array, windowS: number, durationS: number): number | null {
  // A partial last window does not count; rounding must not lose a whole one.
  const windows = Math.floor(durationS / windowS + 1e-9);
  const counts = new Float64Array(windows);
  for (const ns of arrivalsNs) {
    const window = Math.floor(ns / (windowS * NS_PER_S));
    if (window < windows) counts[window] = (counts[window] as number) + 1;
  }
  const mean = counts.reduce((sum, count) => sum + count, 0) / windows;
  if (windows < 2 || mean === 0) return null;
  return counts.reduce((sum, count) => sum + (count - mean) ** 2, 0) / (windows - 1) / mean;
}
