import { formatFigure, formatMs, plainLine } from '#base/format.ts';
import type { LevelReport } from '#profiler/level-report.ts';
import type { ClassFigures } from '#profiler/measurement.ts';
import { findGoodput } from '#profiler/windows/class-figures.ts';

/**
 * Returns a level's requests that kept their limits, and the figures of each request class; no
 * lines if it has neither.
 */
export function classLines({ measurement }: LevelReport): readonly string[] {
  const { classes = [] } = measurement;
  const goodput = findGoodput(measurement);
  return [
    ...(goodput
      ? [
          `  Goodput: ${formatFigure(goodput.value)} (${formatFigure(goodput.low)} to ${formatFigure(goodput.high)}) requests/s within all limits`,
        ]
      : []),
    ...(classes.length > 0 ? ['  Classes: ', ...classes.map(classLine)] : []),
    ...(goodput || classes.length > 0 ? [''] : []),
  ];
}

function classLine({
  name,
  model,
  requests,
  failures,
  throughput,
  goodput,
  latencyMs,
  budgetLatencyMs,
}: ClassFigures): string {
  const served = formatFigure(throughput.value);
  const tail = budgetLatencyMs
    ? `, p${budgetLatencyMs.percentile} ${formatMs(budgetLatencyMs.value)} (${formatFigure(budgetLatencyMs.low)} to ${formatMs(budgetLatencyMs.high)})`
    : '';
  return [
    `    ${plainLine(name)}${model === undefined ? '' : ` (${plainLine(model)})`}: ${requests} requests`,
    ...(failures > 0 ? [`, ${failures} failed`] : []),
    goodput ? `, ${formatFigure(goodput.value)} good of ${served} requests/s` : `, ${served} requests/s`,
    `; avg ${formatMs(latencyMs.avg)}, p50 ${formatMs(latencyMs.p50)}${tail}`,
  ].join('');
}
