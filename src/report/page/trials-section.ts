import { formatFigure, formatMs, formatRate } from '../../base/format.ts';
import { canonicalJson, type Json } from '../../base/json.ts';
import type { Measurement } from '../../profiler/measurement.ts';
import { describeAssignment, describeSpeed } from '../../study/describe.ts';
import { timeSplitOf } from '../../study/explain/time-split.ts';
import { isInDoubt } from '../../study/final.ts';
import { chosenOf } from '../../study/ranking.ts';
import { correctionOf } from '../../study/speed/changes.ts';
import type { StudyState } from '../../study/state.ts';
import type { Trial } from '../../study/types.ts';
import { compareConfigs } from '../../triton/config-comparison.ts';
import { type Html, html, none } from '../html.ts';
import { measurementsOf } from './points.ts';

/** Every trial on a line, and behind each line what it changed and all that was measured of it. */
export function trialsSection(state: StudyState): Html {
  return html`<h2>Trials</h2>
<div class="scroll"><table class="trials"><thead><tr><th>trial</th><th>assignment</th><th>${state.started.levels.mode}</th><th>infer/s</th><th>95 % interval</th><th>p50, ms</th><th>p99, ms</th><th>feasible</th></tr></thead><tbody>
${state.trials.map((trial) => line(state, trial))}</tbody></table></div>
${state.trials.some((trial) => isInDoubt(state, trial)) ? byLuck : none}
${state.trials.some((trial) => factorOf(state, chosenOf(trial)) !== null) ? compared : none}
<div class="cards"><h3>Each trial in full</h3>
${state.trials.filter(({ measurements }) => measurements.length > 0).map((trial) => card(state, trial))}</div>`;
}

const byLuck = html`<p class="soft">By luck: what was read meets the goal, but the search's model, which knows this reading and those around it, gives that less than one chance in three. The best was looked for among the others.</p>`;

const compared = html`<p class="soft">×: measured while the machine was slower or faster than usual. Such a row stands as it was measured, and is compared by that many times its throughput, and latencies as many times shorter; whether it is feasible is said of that.</p>`;

/** `×1.6` for what is compared by other figures than stand here; null where it is compared as it was measured. */
function factorOf({ speeds }: StudyState, measurement: Measurement | undefined): string | null {
  const factor = measurement ? correctionOf(speeds, measurement) : null;
  return factor === null ? null : `×${factor.toFixed(2)}`;
}

function line(state: StudyState, trial: Trial): Html {
  const { number, candidate, failure, chosen, measurements, feasible } = trial;
  const name = `${number}${trial === state.best ? ' best' : ''}`;
  const link = measurements.length > 0 ? html`<a href="#trial-${number}">${name}</a>` : html`${name}`;
  const assignment = describeAssignment(candidate.assignment);
  const measurement = chosen === null ? undefined : measurements[chosen];
  if (failure || !measurement) {
    const why = failure ? `${failure.kind}, see below` : 'not measured';
    return html`<tr class="failed"><td>${link}</td><td>${assignment}</td><td colspan="6">${why}</td></tr>\n`;
  }
  const { throughput, latencyMs, level } = measurement;
  const factor = factorOf(state, measurement);
  return html`<tr class="${feasible ? '' : 'infeasible'}"><td>${link}</td><td>${assignment}</td><td>${level.value}</td><td>${formatFigure(throughput.value)}${factor === null ? none : html` <small>${factor}</small>`}</td><td>${formatFigure(throughput.low)} – ${formatFigure(throughput.high)}</td><td>${formatFigure(latencyMs.p50)}</td><td>${formatFigure(latencyMs.p99)}</td><td>${isInDoubt(state, trial) ? 'by luck' : feasible ? 'yes' : 'no'}</td></tr>\n`;
}

const columns = [
  'throughput, infer/s',
  'mean, ms',
  'p50, ms',
  'p90, ms',
  'p95, ms',
  'p99, ms',
  'queue, ms',
  'compute, ms',
  'outside, ms',
  'mean batch',
  'failed',
  'notes',
];

function card(state: StudyState, trial: Trial): Html {
  const { number, candidate, applied } = trial;
  const loaded =
    applied && applied.change !== 'none'
      ? `, loaded ${applied.change === 'in-place' ? 'in place ' : ''}in ${formatFigure(applied.loadMs)} ms`
      : '';
  return html`<details id="trial-${number}" class="card"><summary>Trial ${number}: ${describeAssignment(candidate.assignment)}</summary>
<p class="soft">${candidate.fingerprint}${loaded}</p>
${changes(state, trial)}
<div class="scroll"><table><thead><tr><th>${state.started.levels.mode}</th>${columns.map((name) => html`<th>${name}</th>`)}</tr></thead><tbody>
${measurementsOf(state, trial).map(({ measurement, id, isFinal }) => row(state, measurement, trial, id, isFinal))}</tbody></table></div></details>\n`;
}

/** Names of instance groups: the server gives them. */
const madeUp = /^instance_group\[\d+\]\.name$/;

/** What the config has otherwise than the original, field by field. */
function changes({ started }: StudyState, { candidate }: Trial): Html {
  const differences = compareConfigs(started.originalConfig, candidate.config).filter(({ path }) => !madeUp.test(path));
  if (differences.length === 0) return html`<p class="diff">The original config.</p>`;
  return html`<ul class="diff">${differences.map(
    ({ path, before, after }) =>
      html`<li><code>${path}</code>: ${shown(before)} → <strong>${shown(after)}</strong></li>`,
  )}</ul>`;
}

const shown = (value: Json | undefined): string => (value === undefined ? 'not set' : canonicalJson(value));

function row(state: StudyState, measurement: Measurement, { candidate }: Trial, id: string, isFinal: boolean): Html {
  const { level, throughput, latencyMs, errorRate } = measurement;
  const split = timeSplitOf(measurement, candidate.config);
  const parts = split?.parts;
  const figures = [latencyMs.avg, latencyMs.p50, latencyMs.p90, latencyMs.p95, latencyMs.p99];
  const cells = [
    `${formatFigure(throughput.value)} (${formatFigure(throughput.low)} – ${formatFigure(throughput.high)})`,
    ...figures.map(formatFigure),
    ...[parts?.queueMs, parts?.computeMs, parts?.outsideMs].map((ms) => formatFigure(ms ?? Number.NaN)),
    formatFigure(split?.execution?.batchSize ?? Number.NaN),
    `${formatFigure(100 * errorRate)} %`,
    notesOf(state, measurement, isFinal),
  ];
  return html`<tr id="${id}"><td>${level.value}</td>${cells.map((text) => html`<td>${text}</td>`)}</tr>\n`;
}

function notesOf({ speeds }: StudyState, measurement: Measurement, isFinal: boolean): string {
  const { stable, client, foreignRequests, budgetVerdict, failures } = measurement;
  const { throughput, budgetLatencyMs } = speeds.comparable(measurement);
  const isCompared = correctionOf(speeds, measurement) !== null;
  return [
    ...(isCompared
      ? [
          `at ${describeSpeed(speeds.of(measurement).value)} of the first minute's speed: compared as ${formatRate(throughput.value)}, p${budgetLatencyMs.percentile} ${formatMs(budgetLatencyMs.value)}`,
        ]
      : []),
    ...(isFinal ? ['of the final'] : []),
    ...(stable ? [] : ['not settled']),
    ...(client.bound ? ['limited by the load generator'] : []),
    ...(foreignRequests ? [`${foreignRequests} requests of others`] : []),
    ...(budgetVerdict ? [`ended early: budget ${budgetVerdict}`] : []),
    ...failures.slice(0, 1).map(({ count, kind }) => `${count} failed (${kind})`),
  ].join('; ');
}

/** Trials that could not be measured, and why, in the server's own words where it spoke. */
export function failuresSection({ trials }: StudyState): Html {
  const failed = trials.filter((trial) => trial.failure !== null);
  if (failed.length === 0) return none;
  return html`<h2>What failed</h2>
<div class="scroll"><table><thead><tr><th>trial</th><th>assignment</th><th>what</th><th>why</th></tr></thead><tbody>
${failed.map(({ number, candidate, failure }) => html`<tr class="failed"><td>${number}</td><td>${describeAssignment(candidate.assignment)}</td><td>${failure?.kind ?? ''}</td><td class="reason">${failure?.reason ?? ''}</td></tr>\n`)}</tbody></table></div>`;
}
