import { NS_PER_S } from '../base/units.ts';
import type { Phase, TraceArrivals, Workload } from './workload.ts';

/** A workload in two parts: what a search sees, and what its pick is judged by. */
export interface HeldOut {
  readonly search: Workload;
  readonly final: Workload;
}

/**
 * Holds a part of a workload out of a search: the last `share` (between 0 and 1) of each trace is for the final, the rest for the search. Phases that are
 * made up stay whole in both; the final is to draw them with another seed. A trace phase of which a part would have no request stays whole there too.
 */
export function heldOut(workload: Workload, share: number): HeldOut {
  const parts = workload.phases.map((phase) => partsOf(phase, share));
  return {
    search: { ...workload, phases: parts.map(([search]) => search) },
    final: { ...workload, phases: parts.map(([, final]) => final) },
  };
}

function partsOf(phase: Phase, share: number): readonly [Phase, Phase] {
  const { arrivals, durationS } = phase;
  if (arrivals.process !== 'trace') return [phase, phase];
  const atNs = durationS * (1 - share) * NS_PER_S;
  const [first, last] = [cut(arrivals, 0, atNs), cut(arrivals, atNs, Number.POSITIVE_INFINITY)];
  if (first.timesNs.length === 0 || last.timesNs.length === 0) return [phase, phase];
  return [
    { ...phase, durationS: durationS * (1 - share), arrivals: first },
    { ...phase, durationS: durationS * share, arrivals: last },
  ];
}

function cut(trace: TraceArrivals, fromNs: number, toNs: number): TraceArrivals {
  const { timesNs, classOf } = trace;
  const kept = [...timesNs.keys()].filter((index) => {
    const ns = timesNs[index] as number;
    return ns >= fromNs && ns < toNs;
  });
  return {
    ...trace,
    timesNs: Float64Array.from(kept, (index) => (timesNs[index] as number) - fromNs),
    classOf: classOf && Uint16Array.from(kept, (index) => classOf[index] as number),
  };
}
