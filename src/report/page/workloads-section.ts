import { formatFigure } from '#base/format.ts';
import type { Measurement, WorkloadMeasurement } from '#profiler/measurement.ts';
import type { Interval } from '#stats/interval.ts';
import { representative } from '#study/final/final.ts';
import { decidingWorkload } from '#study/goal/deciding-workload.ts';
import { metricCell, metricHead } from '#study/goal/metrics/format.ts';
import type { Metric } from '#study/goal/metrics/metric.ts';
import { toMetrics } from '#study/goal/metrics/registry.ts';
import { goalMetrics } from '#study/goal/metrics/shown.ts';
import type { StartedWorkloads } from '#study/records/records.ts';
import type { StudyState } from '#study/records/state.ts';
import { describeAssignment, shortLevel } from '#study/summary/describe.ts';
import { describeRule } from '#study/summary/describe-rule.ts';
import { servedRateHead } from '#study/summary/rate-unit.ts';
import type { Trial } from '#study/types.ts';
import { parseRobustRule } from '#workload/robust-rule.ts';
import { type Html, html, none } from '../html.ts';

/** The columns before those of the goal's other metrics. */
const SHOWN = ['throughput', 'latency', 'error-rate'];

/**
 * Returns the workloads of a study, and each candidate's figures under each workload, if there are
 * several.
 */
export function workloadsSection(state: StudyState): Html {
  const studied = state.started.workloads;
  if (!studied) return none;
  const shown = state.trials.flatMap((trial) => {
    const measurement = representative(state, trial)?.measurement;
    return measurement?.workloads ? [{ trial, measurement }] : [];
  });
  return html`<h2>Workloads</h2>
<p>${introduction(studied)}</p>
${shown.length === 0 ? none : table(state, shown)}`;
}

function introduction({ rule, holdout, of }: StartedWorkloads): string {
  const names = of.map(({ name, file }) => `${name} (${file})`).join(', ');
  const several =
    of.length > 1
      ? ` Each level was measured under each of them; its figures are for ${describeRule(parseRobustRule(rule))}.`
      : '';
  const held =
    holdout === undefined
      ? ''
      : ` The search did not see ${formatFigure(100 * holdout)} % of each trace, by which the final judges; what is made up was drawn anew.`;
  return `Tuned for ${names}. Levels are mean requests per second${of.length > 1 ? ` of ${of[0]?.name}` : ''}.${several}${held}`;
}

interface ShownTrial {
  readonly trial: Trial;
  readonly measurement: Measurement;
}

function table(state: StudyState, shown: readonly ShownTrial[]): Html {
  const metrics = goalMetrics(state.goal, SHOWN);
  const percentile = shown[0]?.measurement.budgetLatencyMs.percentile ?? 99;
  const heads = [
    'trial',
    'assignment',
    'level',
    'workload',
    'requests/s',
    servedRateHead(shown[0]?.measurement ?? {}),
    `p${percentile}, ms`,
  ];
  return html`<div class="scroll"><table id="workloads"><caption>Each candidate under each workload</caption>
<thead><tr>${[...heads, ...metrics.map(metricHead), 'failed', ''].map((head) => html`<th>${head}</th>`)}</tr></thead>
<tbody>${shown.flatMap((each) => listRows(state, each, metrics))}</tbody></table></div>`;
}

function listRows(state: StudyState, { trial, measurement }: ShownTrial, metrics: readonly Metric[]): readonly Html[] {
  const { goal, started } = state;
  const deciding = decidingWorkload(measurement, trial.candidate, goal, started.workloads);
  const workloads = measurement.workloads ?? [];
  return workloads.map((each, place) => {
    const first =
      place > 0
        ? none
        : html`<td rowspan="${workloads.length}">${trial.number}${trial === state.best ? ' best' : ''}</td><td rowspan="${workloads.length}">${describeAssignment(trial.candidate.assignment)}</td><td rowspan="${workloads.length}">${shortLevel(measurement.level)}</td>`;
    const cells = formatCells(each, trial, metrics, state);
    return html`<tr>${first}<th scope="row">${each.workload}</th>${cells.map((cell) => html`<td>${cell}</td>`)}<td>${each === deciding ? 'decides' : ''}</td></tr>\n`;
  });
}

const formatCells = (
  each: WorkloadMeasurement,
  { candidate }: Trial,
  metrics: readonly Metric[],
  { goal }: StudyState,
): readonly string[] => [
  formatFigure(each.level.value),
  withInterval(each.throughput),
  withInterval(each.budgetLatencyMs),
  ...metrics.map((metric) => metricCell(metric, toMetrics(goal).read(metric.name, each, candidate))),
  `${formatFigure(100 * each.errorRate)} %`,
];

const withInterval = ({ value, low, high }: Interval): string =>
  `${formatFigure(value)} (${formatFigure(low)} to ${formatFigure(high)})`;
