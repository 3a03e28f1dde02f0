import type { Measurement } from '#profiler/measurement.ts';
import { decidingWorkload } from '#study/goal/deciding-workload.ts';
import { listColumns } from '#study/goal/metrics/columns.ts';
import { toMetrics } from '#study/goal/metrics/registry.ts';
import { tableMetrics } from '#study/goal/metrics/shown.ts';
import type { StudyState } from '#study/records/state.ts';
import { type CsvCell, csvText } from './csv.ts';

/**
 * Returns a table with a row for every measurement under every workload, those of the final after
 * those of the search; null if a study does not have several workloads. `level` is the study's,
 * `load_value` the workload's own rate.
 */
export function workloadsCsv(state: StudyState): string | null {
  const { trials, finals, goal, started } = state;
  const all = trials.flatMap((trial) => [
    ...trial.measurements.map((measurement) => ({ trial, round: '' as CsvCell, measurement })),
    ...finals
      .filter((final) => final.trial === trial.number)
      .map(({ round, measurement }) => ({ trial, round, measurement })),
  ]);
  const measurements = all.flatMap(({ measurement: { workloads = [] } }) => workloads);
  if (measurements.length === 0) return null;
  const metrics = toMetrics(goal);
  const columns = tableMetrics(metrics, measurements).flatMap(listColumns);
  const rows = all.flatMap(({ trial, round, measurement }) => {
    const deciding = decidingWorkload(measurement, trial.candidate, goal, started.workloads);
    return (measurement.workloads ?? []).map((each): readonly CsvCell[] => [
      ...[trial.number, round, measurement.level.value, each.workload, each.weight],
      ...[String(each === deciding), each.level.value, String(each.stable), each.durationMs, each.requests],
      ...columns.map(({ read }) => read(each satisfies Measurement, trial.candidate)),
    ]);
  });
  return csvText([[...fixed, ...columns.map(({ name }) => name)], ...rows]);
}

const fixed = [
  ...['trial', 'final_round', 'level', 'workload', 'weight'],
  ...['decides', 'load_value', 'stable', 'duration_ms', 'requests'],
];
