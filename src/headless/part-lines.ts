import { formatFigure, formatMs, formatRate, plainLine } from '#base/format.ts';
import { describeFailed } from '#profiler/failed-requests.ts';
import type { FrontMeasurement, Measurement } from '#profiler/measurement.ts';
import type { Topology } from '#space/topology.ts';
import type { Candidate } from '#space/types.ts';
import { busiestStage, type StageSplit, stageSplits } from '#study/analysis/stages.ts';
import { describeLevel } from '#study/summary/describe.ts';

/**
 * Returns a line for each of several fronts, and one for the stages: where the time of a request
 * goes in each, and which one is busiest.
 */
export function describeParts(
  measurement: Measurement,
  topology: Topology,
  candidate: Candidate | undefined,
): readonly string[] {
  const splits = stageSplits(measurement, topology, candidate?.shape ?? {});
  const busiest = busiestStage(splits);
  const isMix = measurement.fronts !== undefined;
  const stages = splits.map((split) =>
    describeStage(isMix ? { ...split, timesPerRequest: 1 } : split, split === busiest),
  );
  return [
    ...(measurement.fronts ?? []).map(describeFront),
    ...(stages.length > 0 ? [`queue + compute, busy: ${stages.join('; ')}`] : []),
  ];
}

function describeFront({ model, level, throughput, budgetLatencyMs, errorRate }: FrontMeasurement): string {
  const failed = errorRate > 0 ? `, ${describeFailed({ errorRate })}` : '';
  const latency = `p${budgetLatencyMs.percentile} ${formatMs(budgetLatencyMs.value)}`;
  return `${plainLine(model)} at ${describeLevel(level)}: ${formatRate(throughput.value)}, ${latency}${failed}`;
}

function describeStage(
  { model, timesPerRequest, queueMs, computeMs, callsMs, busy }: StageSplit,
  isBusiest: boolean,
): string {
  const times = Math.abs(timesPerRequest - 1) < ABOUT_ONE ? '' : ` ×${formatFigure(timesPerRequest)}`;
  const calls = callsMs > 0 ? ` + calls ${shortMs(callsMs)}` : '';
  const share = busy === null ? '' : `, ${Math.round(busy * 100)} %${isBusiest ? ' (most)' : ''}`;
  return `${plainLine(model)}${times} ${shortMs(queueMs)} + ${shortMs(computeMs)}${calls} ms${share}`;
}

/** Rounds to hundredths: a shorter wait is none. */
const shortMs = (ms: number): string => formatFigure(Math.round(ms * 100) / 100);

/** Within this tolerance, a stage counts as called once. */
const ABOUT_ONE = 0.05;
