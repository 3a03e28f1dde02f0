import type { Measurement } from '#profiler/measurement.ts';
import type { StudyWorkloads } from '#workload/study-workloads.ts';
import type { Choice } from './modelled-config.ts';
import type { Observation } from './observation.ts';
import { isModelled, listObservations } from './observations.ts';
import { arrivalsIn, underEach } from './observed-arrivals.ts';

/**
 * Returns the observations of a choice, one per measured workload. An open loop counts as the
 * closed loop with as many requests in flight, by Little's law; under a workload its arrivals are
 * known.
 */
export function observe(
  choice: Choice,
  measurements: readonly Measurement[],
  workloads: StudyWorkloads | undefined,
): Observation[] {
  if (!isModelled(choice.candidate.shape)) return [];
  return measurements.flatMap(underEach).flatMap((measurement) => {
    const closed = asClosedLoop(measurement);
    const observed = listObservations({ candidate: choice.candidate, measurements: [closed] });
    const plan = arrivalsIn(workloads, measurement);
    return observed.map((observation) => ({ ...observation, ...(plan && { arrivalsNs: plan.arrivalsNs }) }));
  });
}

function asClosedLoop(measurement: Measurement): Measurement {
  if (measurement.level.mode === 'concurrency') return measurement;
  const inFlight = Math.max(1, Math.round((measurement.throughput.value * measurement.latencyMs.avg) / 1e3));
  return { ...measurement, level: { mode: 'concurrency', value: inFlight } };
}
