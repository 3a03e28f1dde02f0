import type { Measurement } from '#profiler/measurement.ts';
import type { ArrivalPlan } from '#workload/arrival-plan.ts';
import type { StudyWorkloads } from '#workload/study-workloads.ts';
import { excerptAt } from './offered-load.ts';

/** Arrivals of an observation that are simulated again. */
const MAX_ARRIVALS = 600;

/** The measurement under one workload, whose name is absent if a study has only one. */
export interface UnderOne extends Measurement {
  readonly workload?: string;
}

/** Returns a measurement's part under each workload; the measurement itself if it has no parts. */
export const underEach = (measurement: Measurement): readonly UnderOne[] => measurement.workloads ?? [measurement];

/**
 * Returns the arrivals during a measurement under one workload, or an excerpt of about `requests`;
 * undefined without workloads.
 */
export function arrivalsIn(
  studied: StudyWorkloads | undefined,
  measurement: UnderOne,
  requests = MAX_ARRIVALS,
): ArrivalPlan | undefined {
  const { mode, value } = measurement.level;
  const under = studied && mode === 'request-rate' ? toStudy(studied, measurement) : undefined;
  return under && excerptAt(under.workloads[0], value, requests);
}

/**
 * Returns a study of only the workload of this measurement, with that workload's own rate as its
 * level; undefined for an unknown one.
 */
export function toStudy({ rule, workloads }: StudyWorkloads, { workload: name }: UnderOne): StudyWorkloads | undefined {
  const workload = name === undefined ? workloads[0] : workloads.find((each) => each.name === name);
  return workload && { rule, workloads: [{ ...workload, perLevel: 1 }] };
}
