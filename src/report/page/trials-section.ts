import { formatFigure } from '#base/format.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { isInDoubt, representative } from '#study/final/final.ts';
import { metricCell, metricHead } from '#study/goal/metrics/format.ts';
import type { Metric } from '#study/goal/metrics/metric.ts';
import { toMetrics } from '#study/goal/metrics/registry.ts';
import { goalMetrics } from '#study/goal/metrics/shown.ts';
import type { StudyState } from '#study/records/state.ts';
import { findCorrection } from '#study/speed/changes.ts';
import { describeAssignment, shortLevel } from '#study/summary/describe.ts';
import { rateUnitOfStudy } from '#study/summary/rate-unit.ts';
import type { Trial } from '#study/types.ts';
import { type Html, html, none } from '../html.ts';
import { type TableCell, table } from './table.ts';
import { trialCards } from './trial-card.ts';

/**
 * Returns the table of all trials, one line each, followed by the changes and all measured figures
 * of each.
 */
export function trialsSection(state: StudyState): Html {
  const columns = columnsFor(state);
  return html`<h2>Trials</h2>
${table({
  className: 'trials',
  heads: [
    ...['trial', 'assignment', state.started.levels.mode, rateUnitOfStudy(state), '95 % interval'],
    ...columns.map(metricHead),
    'feasible',
  ],
  rows: state.trials.map((trial) => line(state, trial, columns)),
})}
${state.trials.some((trial) => isInDoubt(state, trial)) ? byLuck : none}
${state.trials.some((trial) => findFactor(state, representative(state, trial)?.measurement) !== null) ? compared : none}
${state.trials.some((trial) => isOfFinal(state, trial)) ? ofFinal : none}
${trialCards(state)}`;
}

/** Marks the level of a row from the final. */
const FINAL_MARK = '†';

const byLuck = html`<p class="soft">By luck: the measurement meets the goal, but by the search's model, which knows this measurement and its neighbours, that is less than one third likely. The best was chosen from the other trials.</p>`;

const compared = html`<p class="soft">×: measured while the machine was slower or faster than usual. The row shows the measured figures. Comparisons, also with the goal, multiply the throughput by this factor and divide latencies by it.</p>`;

const ofFinal = html`<p class="soft">${FINAL_MARK}: measured in the final, alternating with the original. All other rows are from the search.</p>`;

/**
 * Returns the median, the budgeted percentile, and the goal's other metrics; throughput has its own
 * columns.
 */
function columnsFor({ goal, trials }: StudyState): readonly Metric[] {
  const metrics = toMetrics(goal);
  const percentile = trials.flatMap(({ measurements }) => measurements)[0]?.budgetLatencyMs.percentile ?? 99;
  const shown = ['throughput', 'latency', 'latency-p50', `latency-p${percentile}`, 'error-rate'];
  return [
    metrics.named('latency-p50'),
    ...(percentile === 50 ? [] : [{ ...metrics.named('latency'), label: `p${percentile}` }]),
    ...goalMetrics(goal, shown),
  ];
}

/**
 * Returns `×1.6` if the comparison uses other figures than the ones shown; null if it uses the
 * measured ones.
 */
function findFactor({ speeds }: StudyState, measurement: Measurement | undefined): string | null {
  const factor = measurement ? findCorrection(speeds, measurement) : null;
  return factor === null ? null : `×${factor.toFixed(2)}`;
}

const isOfFinal = (state: StudyState, trial: Trial): boolean =>
  state.finals.some(({ measurement }) => measurement === representative(state, trial)?.measurement);

function line(state: StudyState, trial: Trial, columns: readonly Metric[]) {
  const { number, candidate, failure, measurements } = trial;
  const name = `${number}${trial === state.best ? ' best' : ''}`;
  const link = measurements.length > 0 ? html`<a href="#trial-${number}">${name}</a>` : html`${name}`;
  const assignment = describeAssignment(candidate.assignment);
  const stands = representative(state, trial);
  if (failure || !stands) {
    const why = failure ? `${failure.kind}, see below` : 'not measured';
    return { className: 'failed', cells: [link, assignment, ...Array<string>(columns.length + 3).fill(''), why] };
  }
  const { measurement, feasible } = stands;
  const { throughput, level } = measurement;
  const mark = isOfFinal(state, trial) ? FINAL_MARK : '';
  const factor = findFactor(state, measurement);
  const metrics = toMetrics(state.goal);
  const cells: readonly TableCell[] = [
    ...[link, assignment, `${shortLevel(level)}${mark}`],
    html`${formatFigure(throughput.value)}${factor === null ? none : html` <small>${factor}</small>`}`,
    `${formatFigure(throughput.low)} – ${formatFigure(throughput.high)}`,
    ...columns.map((metric) => metricCell(metric, metrics.read(metric.name, measurement, candidate))),
    isInDoubt(state, trial) ? 'by luck' : feasible ? 'yes' : 'no',
  ];
  return { className: feasible ? '' : 'infeasible', cells };
}

/**
 * Returns the trials that could not be measured, and why, in the server's own words if it gave any.
 */
export function failuresSection({ trials }: StudyState): Html {
  const failed = trials.filter((trial) => trial.failure !== null);
  if (failed.length === 0) return none;
  return html`<h2>What failed</h2>
${table({
  className: 'failures',
  heads: ['trial', 'assignment', 'failure', 'reason'],
  rows: failed.map(({ number, candidate, failure }) => ({
    className: 'failed',
    cells: [
      String(number),
      describeAssignment(candidate.assignment),
      failure?.kind ?? '',
      html`<span class="reason">${failure?.reason ?? ''}</span>`,
    ],
  })),
})}`;
}
