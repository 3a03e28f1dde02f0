import { formatDuration, formatFigure, plainLine } from '#base/format.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Candidate } from '#space/types.ts';
import { decidingWorkload } from '#study/goal/deciding-workload.ts';
import type { StartedWorkloads } from '#study/records/records.ts';
import { describeRule } from '#study/summary/describe-rule.ts';
import type { Goal } from '#study/types.ts';
import { parseRobustRule } from '#workload/robust-rule.ts';
import { describeMeasurement } from './measurement-line.ts';

/**
 * Returns the workloads of a study: one line each, under a line that says how their figures are
 * combined.
 */
export function workloadLines({ rule, holdout, of }: StartedWorkloads): readonly string[] {
  const [only, ...others] = of;
  const held =
    holdout === undefined ? '' : `; ${formatFigure(100 * holdout)} % of each trace is held out for the final`;
  if (only && others.length === 0)
    return [plainLine(`workload ${only.name}, in passes of ${formatDuration(only.passSeconds)}${held}`)];
  const total = of.reduce((sum, { weight }) => sum + weight, 0);
  return [
    `${of.length} workloads, combined by ${describeRule(parseRobustRule(rule))}${held}`,
    ...of.map(({ name, weight, perLevel, passSeconds }) => {
      const rate = perLevel === 1 ? '' : `, ${formatFigure(perLevel)} times the level's rate`;
      const share = rule === 'worst' ? '' : `, weight ${formatFigure((100 * weight) / total)} %`;
      return `    ${plainLine(name)}: passes of ${formatDuration(passSeconds)}${rate}${share}`;
    }),
  ];
}

/** Returns a line for each workload of a measurement, with the decisive one marked. */
export function describeWorkloads(
  measurement: Measurement,
  goal: Goal | undefined,
  candidate: Candidate | undefined,
  studied: StartedWorkloads,
): readonly string[] {
  const deciding = goal && candidate ? decidingWorkload(measurement, candidate, goal, studied) : null;
  return (measurement.workloads ?? []).map((each) => {
    const mark = each === deciding ? ' ← decides' : '';
    return `${plainLine(each.workload, 40)}: ${describeMeasurement(each, goal, candidate)}${mark}`;
  });
}
