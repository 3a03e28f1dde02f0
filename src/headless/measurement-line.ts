import { formatFigure, formatMs, formatRate } from '#base/format.ts';
import { countFailedRequests, describeFailed, describeTooManyFailed } from '#profiler/failed-requests.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Candidate } from '#space/types.ts';
import { allowedErrorRate, missedConstraints } from '#study/goal/goal.ts';
import { metricText } from '#study/goal/metrics/format.ts';
import { nameOfModel } from '#study/goal/metrics/of-model.ts';
import { toMetrics } from '#study/goal/metrics/registry.ts';
import { goalMetrics } from '#study/goal/metrics/shown.ts';
import { describeConstraint, describeLevel } from '#study/summary/describe.ts';
import { chooseRateUnit } from '#study/summary/rate-unit.ts';
import type { Goal } from '#study/types.ts';

/**
 * Returns a measurement in one line: its level, throughput, budgeted percentile, the goal's other
 * objectives, the constraints it misses, and reasons to doubt it. Without a goal and a candidate,
 * leaves the goal out.
 */
export function describeMeasurement(
  measurement: Measurement,
  goal: Goal | undefined,
  candidate: Candidate | undefined,
): string {
  const { throughput, budgetLatencyMs: latency } = measurement;
  const failed = countFailedRequests(measurement);
  if (measurement.errorRate >= 1) return `${describeLevel(measurement.level)}: ${describeFailed(failed)}`;
  const tooMany = goal ? describeTooManyFailed(failed, allowedErrorRate(goal.constraints)) : null;
  const halfWidth = (throughput.high - throughput.low) / 2;
  const spread = throughput.value > 0 ? ` ±${((halfWidth / throughput.value) * 100).toFixed(1)} %` : '';
  const verdict =
    goal?.budget && !tooMany ? (latency.value <= goal.budget.latencyMs ? ', within budget' : ', over budget') : '';
  const notes = [
    describeTokens(measurement),
    goal && candidate ? describeObjectiveFigures(measurement, goal, candidate) : '',
    goal && candidate ? describeMissed(measurement, goal, candidate) : '',
    measurement.stable ? '' : ', not stable',
    measurement.client.bound
      ? `, discarded: the load generator was the limit (${measurement.client.reason ?? ''})`
      : '',
    measurement.tooManyErrors ? ', discarded: too many requests failed' : '',
    measurement.errorRate > 0 ? `, ${tooMany ?? describeFailed(failed)}` : '',
  ];
  return `${describeLevel(measurement.level)}: ${formatRate(throughput.value, chooseRateUnit(measurement))}${spread}, p${latency.percentile} ${formatMs(latency.value)}${verdict}${notes.join('')}`;
}

/**
 * Returns the times and rates of a language model's tokens:
 * `, TTFT 41 ms, ITL 9.2 ms, 1,204 tokens/s`.
 */
function describeTokens({ tokens }: Measurement): string {
  if (!tokens) return '';
  const { ttftMs, itlMs } = tokens.budget;
  const rate = `${formatFigure(tokens.outputTokensPerSecond.value)} tokens/s`;
  return `, TTFT ${formatMs(ttftMs.value)}, ITL ${formatMs(itlMs.value)}, ${rate}`;
}

/** Metrics that the line always contains. */
const ALWAYS_SAID = ['throughput', 'latency', 'error-rate'];

/**
 * Returns the objectives that are not in the line otherwise: `, GPU power 250 W`. Those of fronts
 * have lines of their own.
 */
function describeObjectiveFigures(measurement: Measurement, goal: Goal, candidate: Candidate): string {
  const ofFronts = (measurement.fronts ?? []).flatMap(({ model }) =>
    ALWAYS_SAID.map((name) => nameOfModel(name, model)),
  );
  return goalMetrics({ ...goal, constraints: [] }, [...ALWAYS_SAID, ...ofFronts])
    .map(
      (metric) => `, ${metric.label} ${metricText(metric, toMetrics(goal).read(metric.name, measurement, candidate))}`,
    )
    .join('');
}

/**
 * Returns the constraints that the measurement misses, with its figures. The budget and failed
 * requests are elsewhere in the line.
 */
function describeMissed(measurement: Measurement, goal: Goal, candidate: Candidate): string {
  const missed = missedConstraints(measurement, candidate, goal).filter((each) => goal.constraints.includes(each));
  return missed
    .map((constraint) => {
      const metric = toMetrics(goal).named(constraint.metric);
      const value = toMetrics(goal).read(metric.name, measurement, candidate);
      return `, misses ${describeConstraint(constraint, toMetrics(goal))}${value === undefined ? '' : ` with ${metricText(metric, value)}`}`;
    })
    .join('');
}
