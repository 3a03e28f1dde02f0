import { formatFigure, formatMs } from '#base/format.ts';
import type { Measurement, WorkloadMeasurement } from '#profiler/measurement.ts';
import type { Candidate } from '#space/types.ts';
import { decidingWorkload } from '#study/goal/deciding-workload.ts';
import type { StudyState } from '#study/records/state.ts';
import { servedRateHead } from '#study/summary/rate-unit.ts';
import { findFigures } from '../figures.ts';
import { fitted, foreign, label, left, type Row, right, row, span } from '../rows.ts';
import type { ViewState } from '../state.ts';

const MAX_NAME = 16;

/** Returns a row for each workload of the best; empty if the study does not have several. */
export function workloadRows({ study }: ViewState, width: number): readonly Row[] {
  const measurement = study?.best && findFigures(study, study.best);
  if (!study?.best || !measurement) return [];
  return listRows(study, study.best.candidate, measurement).map((line, index) =>
    fitted([label(index === 0 ? 'workloads' : ''), ...line], width),
  );
}

/** Returns the same for any trial, under a heading. */
export function workloadSection(
  study: StudyState,
  candidate: Candidate,
  measurement: Measurement,
  width: number,
): readonly Row[] {
  const rows = listRows(study, candidate, measurement).map((line): Row => [span('  '), ...line]);
  if (rows.length === 0) return [];
  const { percentile } = measurement.budgetLatencyMs;
  return [row(`  by workload: requests/s, ${servedRateHead(measurement)}, p${percentile}`, 'muted'), ...rows].map(
    (line) => fitted(line, width),
  );
}

function listRows({ goal, started }: StudyState, candidate: Candidate, measurement: Measurement): readonly Row[] {
  const { workloads = [] } = measurement;
  const deciding = decidingWorkload(measurement, candidate, goal, started.workloads);
  const nameWidth = Math.min(MAX_NAME, Math.max(0, ...workloads.map(({ workload }) => foreign(workload).length))) + 1;
  return workloads.map((each): Row => {
    const isLate = goal.budget !== null && each.budgetLatencyMs.value > goal.budget.latencyMs;
    return [
      span(left(foreign(each.workload), nameWidth), 'muted'),
      span(`${right(`${formatFigure(each.level.value)}/s`, 8)}${right(formatFigure(each.throughput.value), 8)}`),
      span(right(formatMs(each.budgetLatencyMs.value), 10), isLate ? 'bad' : undefined),
      span(goodText(each), 'muted'),
      ...(each.errorRate > 0 ? [span(` ${(each.errorRate * 100).toFixed(1)} % failed`, 'bad' as const)] : []),
      ...(each === deciding ? [span(' ← decides', 'warning' as const)] : []),
    ];
  });
}

const goodText = ({ goodput }: WorkloadMeasurement): string =>
  goodput ? `  ${formatFigure(goodput.value)}/s good` : '';
