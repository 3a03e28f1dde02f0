import type { ModelExplanation } from './explanation.ts';

/** A workload file with the traffic of a model (docs/workloads.md). */
interface SeenWorkload {
  readonly workloadVersion: 1;
  readonly name: string;
  readonly phases: readonly [{ readonly durationS: number; readonly arrivals: SeenArrivals }];
}

type SeenArrivals =
  | { readonly process: 'poisson'; readonly perSecond: number }
  | { readonly process: 'gamma'; readonly perSecond: number; readonly cv: number };

/** Long enough for a window, and short enough for many passes. */
const DURATION_S = 30;

/**
 * Returns the traffic of a model as a workload; null where it does not show how requests arrive.
 * Counts of a renewal process have the dispersion cv² over long times (Cox, Renewal Theory, 1962),
 * so bursts become gamma-distributed gaps with that coefficient of variation.
 */
export function toWorkload({ traffic }: ModelExplanation): SeenWorkload | null {
  const { arrivals: kind, dispersion, requestsPerSecond } = traffic;
  if (kind === 'unknown' || dispersion === null) return null;
  const perSecond = Number(requestsPerSecond.value.toPrecision(4));
  const arrivals: SeenArrivals =
    kind === 'poisson'
      ? { process: 'poisson', perSecond }
      : { process: 'gamma', perSecond, cv: Number(Math.sqrt(dispersion.value).toPrecision(3)) };
  return { workloadVersion: 1, name: 'observed', phases: [{ durationS: DURATION_S, arrivals }] };
}
