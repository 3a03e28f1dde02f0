import type { Traffic } from '#queueing/traffic.ts';
import type { ArrivalPlan } from '#workload/arrival-plan.ts';
import { takeExcerpt } from '#workload/excerpt.ts';
import type { StudyWorkload, StudyWorkloads } from '#workload/study-workloads.ts';

/** The arrivals at one front at one level of a study, under one of its workloads. */
export interface OfferedLoad {
  readonly workload: StudyWorkload;
  /** A pass, or an excerpt of it. */
  readonly plan: ArrivalPlan;
}

/**
 * Returns the arrivals under each workload at a level of the study; for a long pass an excerpt of
 * about `requests` requests.
 */
export const loadsAt = ({ workloads }: StudyWorkloads, level: number, requests: number): OfferedLoad[] =>
  workloads.map((workload) => ({
    workload,
    plan: excerptAt(workload, level * workload.perLevel, requests),
  }));

const known = new WeakMap<StudyWorkload['planAt'], Map<string, ArrivalPlan>>();

/**
 * Returns the arrivals at a rate, or an excerpt of about `requests` requests; memoized, because
 * many choices are simulated under it.
 */
export function excerptAt({ planAt }: StudyWorkload, perSecond: number, requests: number): ArrivalPlan {
  const made = known.get(planAt) ?? new Map<string, ArrivalPlan>();
  known.set(planAt, made);
  const key = `${perSecond} ${requests}`;
  const plan = made.get(key) ?? takeExcerpt(planAt(perSecond), requests);
  made.set(key, plan);
  return plan;
}

/** The properties of requests besides their times. */
interface RequestKind {
  readonly roundTripNs: number;
  readonly samplesPerRequest: number;
}

/** Returns the load as traffic to simulate. */
export function trafficUnder(
  { workload: { limitsNs }, plan: { arrivalsNs, classOf, classes } }: OfferedLoad,
  kind: RequestKind,
): Extract<Traffic, { readonly kind: 'open' }> {
  if (!limitsNs) return { kind: 'open', arrivalsNs, ...kind };
  const byClass = classes.map((name) => limitsNs.get(name) ?? Number.POSITIVE_INFINITY);
  return {
    kind: 'open',
    arrivalsNs,
    limitsNs: Float64Array.from(classOf, (index) => byClass[index] as number),
    ...kind,
  };
}
