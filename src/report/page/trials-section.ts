import { formatFigure } from '../../base/format.ts';
import type { Measurement } from '../../profiler/measurement.ts';
import { isInDoubt, representative } from '../../study/final/final.ts';
import { metricCell, metricHead } from '../../study/goal/metrics/format.ts';
import type { Metric } from '../../study/goal/metrics/metric.ts';
import { metricsOf } from '../../study/goal/metrics/registry.ts';
import { goalMetrics } from '../../study/goal/metrics/shown.ts';
import type { StudyState } from '../../study/records/state.ts';
import { correctionOf } from '../../study/speed/changes.ts';
import { describeAssignment, shortLevel } from '../../study/summary/describe.ts';
import type { Trial } from '../../study/types.ts';
import { type Html, html, none } from '../html.ts';
import { trialCards } from './trial-card.ts';

/** Returns the table of all trials, one line each, followed by the changes and all measured figures of each. */
export function trialsSection(state: StudyState): Html {
  const columns = columnsFor(state);
  const heads = columns.map((metric) => html`<th>${metricHead(metric)}</th>`);
  return html`<h2>Trials</h2>
<div class="scroll"><table class="trials"><thead><tr><th>trial</th><th>assignment</th><th>${state.started.levels.mode}</th><th>infer/s</th><th>95 % interval</th>${heads}<th>feasible</th></tr></thead><tbody>
${state.trials.map((trial) => line(state, trial, columns))}</tbody></table></div>
${state.trials.some((trial) => isInDoubt(state, trial)) ? byLuck : none}
${state.trials.some((trial) => factorOf(state, representative(state, trial)?.measurement) !== null) ? compared : none}
${state.trials.some((trial) => isOfFinal(state, trial)) ? ofFinal : none}
${trialCards(state)}`;
}

/** Marks the level of a row from the final. */
const FINAL_MARK = '†';

const byLuck = html`<p class="soft">By luck: the measurement meets the goal, but the search's model, which knows it and those around it, gives that less than one chance in three. The best was chosen among the others.</p>`;

const compared = html`<p class="soft">×: measured while the machine was slower or faster than usual. The row shows what was measured. The comparison, also with the goal, uses this many times its throughput, and latencies as many times shorter.</p>`;

const ofFinal = html`<p class="soft">${FINAL_MARK}: as the final measured it, in turn with the original; every other row is of the search.</p>`;

/** The number of columns before the metrics. */
const FIXED_COLUMNS = 5;

/** Returns the median, the budgeted percentile, and the goal's other metrics; throughput has its own columns. */
function columnsFor({ goal, trials }: StudyState): readonly Metric[] {
  const metrics = metricsOf(goal);
  const percentile = trials.flatMap(({ measurements }) => measurements)[0]?.budgetLatencyMs.percentile ?? 99;
  const shown = ['throughput', 'latency', 'latency-p50', `latency-p${percentile}`, 'error-rate'];
  return [
    metrics.named('latency-p50'),
    ...(percentile === 50 ? [] : [{ ...metrics.named('latency'), label: `p${percentile}` }]),
    ...goalMetrics(goal, shown),
  ];
}

/** Returns `×1.6` if the comparison uses other figures than the ones shown; null if it uses the measured ones. */
function factorOf({ speeds }: StudyState, measurement: Measurement | undefined): string | null {
  const factor = measurement ? correctionOf(speeds, measurement) : null;
  return factor === null ? null : `×${factor.toFixed(2)}`;
}

const isOfFinal = (state: StudyState, trial: Trial): boolean =>
  state.finals.some(({ measurement }) => measurement === representative(state, trial)?.measurement);

function line(state: StudyState, trial: Trial, columns: readonly Metric[]): Html {
  const { number, candidate, failure, measurements } = trial;
  const name = `${number}${trial === state.best ? ' best' : ''}`;
  const link = measurements.length > 0 ? html`<a href="#trial-${number}">${name}</a>` : html`${name}`;
  const assignment = describeAssignment(candidate.assignment);
  const stands = representative(state, trial);
  if (failure || !stands) {
    const why = failure ? `${failure.kind}, see below` : 'not measured';
    return html`<tr class="failed"><td>${link}</td><td>${assignment}</td><td colspan="${FIXED_COLUMNS - 2 + columns.length + 1}">${why}</td></tr>\n`;
  }
  const { measurement, feasible } = stands;
  const { throughput, level } = measurement;
  const mark = isOfFinal(state, trial) ? FINAL_MARK : '';
  const factor = factorOf(state, measurement);
  const metrics = metricsOf(state.goal);
  const cells = columns.map(
    (metric) => html`<td>${metricCell(metric, metrics.read(metric.name, measurement, candidate))}</td>`,
  );
  return html`<tr class="${feasible ? '' : 'infeasible'}"><td>${link}</td><td>${assignment}</td><td>${shortLevel(level)}${mark}</td><td>${formatFigure(throughput.value)}${factor === null ? none : html` <small>${factor}</small>`}</td><td>${formatFigure(throughput.low)} – ${formatFigure(throughput.high)}</td>${cells}<td>${isInDoubt(state, trial) ? 'by luck' : feasible ? 'yes' : 'no'}</td></tr>\n`;
}

/** Returns the trials that could not be measured, and why, in the server's own words if it gave any. */
export function failuresSection({ trials }: StudyState): Html {
  const failed = trials.filter((trial) => trial.failure !== null);
  if (failed.length === 0) return none;
  return html`<h2>What failed</h2>
<div class="scroll"><table><thead><tr><th>trial</th><th>assignment</th><th>what</th><th>why</th></tr></thead><tbody>
${failed.map(({ number, candidate, failure }) => html`<tr class="failed"><td>${number}</td><td>${describeAssignment(candidate.assignment)}</td><td>${failure?.kind ?? ''}</td><td class="reason">${failure?.reason ?? ''}</td></tr>\n`)}</tbody></table></div>`;
}
