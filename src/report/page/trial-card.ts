import { formatDuration, formatFigure, formatMs, formatRate } from '#base/format.ts';
import { canonicalJson, type Json } from '#base/json.ts';
import { MS_PER_S } from '#base/units.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { listDifferences } from '#space/differences.ts';
import { splitTime } from '#study/analysis/explain/time-split.ts';
import { countedIn, metricCell, metricHead } from '#study/goal/metrics/format.ts';
import type { Metric } from '#study/goal/metrics/metric.ts';
import { toMetrics } from '#study/goal/metrics/registry.ts';
import { measuredMetrics } from '#study/goal/metrics/shown.ts';
import type { StudyState } from '#study/records/state.ts';
import { findCorrection } from '#study/speed/changes.ts';
import { describeAccuracy } from '#study/summary/accuracy-words.ts';
import { describeAssignment, describeSpeedShare, shortLevel } from '#study/summary/describe.ts';
import { chooseRateUnit, rateUnitOfStudy } from '#study/summary/rate-unit.ts';
import type { Trial } from '#study/types.ts';
import { type Html, html } from '../html.ts';
import { listMeasurements } from './points.ts';

/**
 * A column of a card's table. The page's script finds the parts of a request's time by the column
 * headings.
 */
interface Column {
  readonly head: string;
  cell(measurement: Measurement, trial: Trial): string;
}

/**
 * Returns the cards of all measured trials: the changes of each in the config, and all of its
 * measured figures.
 */
export function trialCards(state: StudyState): Html {
  const columns = columnsFor(state);
  return html`<div class="cards"><h3>Each trial in full</h3>
${state.trials.filter(({ measurements }) => measurements.length > 0).map((trial) => card(state, trial, columns))}</div>`;
}

function card(state: StudyState, trial: Trial, columns: readonly Column[]): Html {
  const { number, candidate, applied } = trial;
  const loaded =
    applied && applied.change !== 'none'
      ? `, loaded ${applied.change === 'in-place' ? 'in place ' : ''}in ${formatFigure(applied.loadMs)} ms`
      : '';
  const built = applied?.buildMs === undefined ? '' : `, built in ${formatFigure(applied.buildMs)} ms`;
  const firstMs = trial.measurements[0]?.firstAnswersMs;
  const answered = firstMs === undefined ? '' : `, first answers after ${formatDuration(firstMs / MS_PER_S)}`;
  const accuracy = applied?.accuracy ? `, accuracy: ${describeAccuracy(applied.accuracy)}` : '';
  const row = ({ measurement, id, isFinal }: ReturnType<typeof listMeasurements>[number]): Html => {
    const cells = [
      ...columns.map(({ cell }) => cell(measurement, trial)),
      ...[formatNotes(state, measurement, isFinal)],
    ].map((text) => html`<td>${text}</td>`);
    return html`<tr id="${id}"><td>${shortLevel(measurement.level)}</td>${cells}</tr>\n`;
  };
  return html`<details id="trial-${number}" class="card"><summary>Trial ${number}: ${describeAssignment(candidate.assignment)}</summary>
<p class="soft">${candidate.fingerprint}${loaded}${built}${answered}${accuracy}</p>
${changes(state, trial)}
<div class="scroll"><table><thead><tr><th>${state.started.levels.mode}${state.started.levels.batch ? ' × batch' : ''}</th>${columns.map(({ head }) => html`<th>${head}</th>`)}<th>notes</th></tr></thead><tbody>
${listMeasurements(state, trial).map(row)}</tbody></table></div></details>\n`;
}

/**
 * Metrics with a separate column, and those that the table shows in other words: the percentile,
 * the split, the config.
 */
const BEFORE_SPLIT = [
  'throughput',
  ...['latency-avg', 'latency-p50', 'latency-p90', 'latency-p95', 'latency-p99', 'latency-max'],
];
const AFTER_SPLIT = ['error-rate'];
const TOLD_OTHERWISE = ['latency', 'queue-time', 'compute-time', 'instances', 'max-batch-size', 'gpus'];

/** Returns the columns of this study, without metrics that were never measured. */
function columnsFor(state: StudyState): readonly Column[] {
  const metrics = toMetrics(state.goal);
  const among = state.trials.flatMap((trial) =>
    listMeasurements(state, trial).map(({ measurement }) => ({ candidate: trial.candidate, measurement })),
  );
  const further = measuredMetrics(state.goal, [...BEFORE_SPLIT, ...AFTER_SPLIT, ...TOLD_OTHERWISE], among);
  const named = (name: string): Metric => countedIn(metrics.named(name), rateUnitOfStudy(state));
  const toColumn = (metric: Metric): Column => ({
    head: metricHead(metric),
    cell: (measurement, { candidate }) => {
      const value = metricCell(metric, metrics.read(metric.name, measurement, candidate));
      const interval = metric.interval?.of(measurement, candidate);
      return interval ? `${value} (${metricCell(metric, interval.low)} – ${metricCell(metric, interval.high)})` : value;
    },
  });
  return [
    ...BEFORE_SPLIT.map(named).map(toColumn),
    ...splitColumns,
    ...further.map(toColumn),
    ...AFTER_SPLIT.map(named).map(toColumn),
  ];
}

const splitColumn = (
  head: string,
  of: (split: NonNullable<ReturnType<typeof splitTime>>) => number | undefined,
): Column => ({
  head,
  cell: (measurement, { candidate }) => {
    const split = splitTime(measurement, candidate.shape);
    return formatFigure((split && of(split)) ?? Number.NaN);
  },
});

/** The split of a request's mean time, and the samples per execution. */
const splitColumns: readonly Column[] = [
  splitColumn('queue, ms', ({ parts }) => parts?.queueMs),
  splitColumn('compute, ms', ({ parts }) => parts?.computeMs),
  splitColumn('outside, ms', ({ parts }) => parts?.outsideMs),
  splitColumn('mean batch', ({ execution }) => execution?.batchSize),
];

/** Returns the differences between the config and the original, field by field. */
function changes({ started }: StudyState, { candidate }: Trial): Html {
  const differences = listDifferences(started.original, candidate);
  if (differences.length === 0) return html`<p class="diff">The original config.</p>`;
  return html`<ul class="diff">${differences.map(
    ({ path, before, after }) =>
      html`<li><code>${path}</code>: ${shown(before)} → <strong>${shown(after)}</strong></li>`,
  )}</ul>`;
}

const shown = (value: Json | undefined): string => (value === undefined ? 'not set' : canonicalJson(value));

function formatNotes({ speeds }: StudyState, measurement: Measurement, isFinal: boolean): string {
  const { stable, client, foreignRequests, budgetVerdict, failures } = measurement;
  const { throughput, budgetLatencyMs } = speeds.comparable(measurement);
  const isCompared = findCorrection(speeds, measurement) !== null;
  return [
    ...(isCompared
      ? [
          `at ${describeSpeedShare(speeds.of(measurement).value)} of the first minute's speed: corrected to ${formatRate(throughput.value, chooseRateUnit(measurement))}, p${budgetLatencyMs.percentile} ${formatMs(budgetLatencyMs.value)}`,
        ]
      : []),
    ...(isFinal ? ['in the final'] : []),
    ...(stable ? [] : ['not stable']),
    ...(client.bound ? ['limited by the load generator'] : []),
    ...(foreignRequests ? [`${foreignRequests} requests from other clients`] : []),
    ...(budgetVerdict ? [`ended early: budget ${budgetVerdict}`] : []),
    ...failures.slice(0, 1).map(({ count, kind }) => `${count} failed (${kind})`),
  ].join('; ');
}
