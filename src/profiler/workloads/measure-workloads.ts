import type { LoadLevel } from '#loadgen/types.ts';
import type { RobustRule } from '#workload/robust-rule.ts';
import type { Measurement, WorkloadMeasurement } from '../measurement.ts';
import { robustMeasurement } from './robust-measurement.ts';

/** A workload of a study, with the name that its measurements use. */
interface Named {
  readonly name: string;
  readonly weight: number;
  /** Its requests per second relative to the level of the study. */
  readonly perLevel: number;
}

/**
 * Measures a level of a study under each of its workloads in turn, each at its own rate, and
 * combines the figures by the rule. `measure` gets the index of the workload. A single workload at
 * the level's own rate is measured as it is.
 */
export async function measureWorkloads(
  rule: RobustRule,
  level: LoadLevel,
  workloads: readonly Named[],
  measure: (place: number, level: LoadLevel) => Promise<Measurement>,
): Promise<Measurement> {
  const parts: WorkloadMeasurement[] = [];
  for (const [place, { name, weight, perLevel }] of workloads.entries()) {
    const measured = await measure(place, { ...level, value: level.value * perLevel });
    if (workloads.length === 1 && perLevel === 1) return measured;
    parts.push({ ...measured, workload: name, weight });
  }
  return robustMeasurement(rule, level, parts);
}
