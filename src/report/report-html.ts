import { formatDuration, formatFigure, formatMs, formatRate, formatRatio } from '../base/format.ts';
import type { Measurement } from '../profiler/measurement.ts';
import { describeAssignment, describePrediction } from '../study/describe.ts';
import type { StudyState } from '../study/state.ts';
import type { Summary } from '../study/summary.ts';
import type { Trial } from '../study/types.ts';
import { Html, html } from './html.ts';
import { type ScatterSeries, scatterChart } from './scatter-chart.ts';

/** The study as one self-contained page: verdict, chart, trials, how it was measured, and the best config. */
export function reportHtml(state: StudyState, summary: Summary, bestConfigText: string | null): string {
  const { started, server } = state;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>tritune: ${started.model}</title>
<style>${style}</style>
</head>
<body>
<h1>${started.model} <small>on ${server.name} ${server.version}</small></h1>
${server.emulated === null ? none : html`<p class="notice">These figures are of tritune's emulator, not of a real server.</p>`}
<p class="verdict">${verdict(summary)}</p>
${summary.explanation ? html`<p>${summary.explanation.text}</p>` : none}
${prediction(summary)}
${chart(state)}
<h2>Trials</h2>
${trialTable(state)}
${bestConfigText === null ? none : html`<h2>Best config.pbtxt</h2><pre>${bestConfigText}</pre>`}
<h2>How it was measured</h2>
${method(state)}
</body>
</html>
`.text;
}

const none = new Html('');

function verdict({ best, baseline, budget, feasible, gain }: Summary): string {
  if (!best) return 'Nothing could be measured.';
  const { throughput, budgetLatencyMs } = best;
  const what = `${rate(throughput.value)} at p${budgetLatencyMs.percentile} ${formatMs(budgetLatencyMs.value ?? Number.NaN)}`;
  const within = budget ? ` within the budget of ${formatMs(budget.latencyMs)}` : '';
  if (!feasible) return `No configuration met the constraints; the nearest gives ${what}.`;
  if (best.trial === baseline?.trial) return `The original config is the best found: ${what}${within}.`;
  return `Trial ${best.trial} serves ${what}${within}${gain ? `, ${gainText(gain)}` : ''}.`;
}

function gainText({ ratio, low, high }: NonNullable<Summary['gain']>): string {
  const interval = low !== null && high !== null ? `95 % interval ${formatRatio(low)} to ${formatRatio(high)}, ` : '';
  return `${formatRatio(ratio ?? Number.NaN)} the original config (${interval}measured in turn)`;
}

const rate = (value: number | null): string => formatRate(value ?? Number.NaN);

function prediction({ best }: Summary): Html {
  if (!best?.predicted) return none;
  return html`<p>Predicted without its own measurements: ${describePrediction(best.predicted)}.</p>`;
}

function chart(state: StudyState): Html {
  const at = (measurement: Measurement): [number, number] => [
    measurement.budgetLatencyMs.value,
    measurement.throughput.value,
  ];
  const served = (measurement: Measurement): boolean => measurement.throughput.value > 0;
  const series: ScatterSeries[] = [
    {
      name: 'measured',
      color: '#8a8f98',
      points: state.trials.flatMap((trial) => trial.measurements.filter(served).map(at)),
    },
    { name: 'Pareto front', color: '#2f7ed8', points: state.front.map(({ measurement }) => at(measurement)) },
    { name: 'original config', color: '#e08a1e', points: pointsOf(state.baseline, at) },
    { name: 'best', color: '#2ca05a', points: pointsOf(state.best, at) },
  ];
  if (series.every(({ points }) => points.length === 0)) return none;
  const percentile = state.started.goal.budget?.percentile ?? 99;
  return html`<figure>${scatterChart(series, `p${percentile} latency, ms`, state.goal.budget?.latencyMs ?? null)}</figure>`;
}

function pointsOf(trial: Trial | null, at: (measurement: Measurement) => [number, number]): [number, number][] {
  const measurement = trial && chosenOf(trial);
  return measurement ? [at(measurement)] : [];
}

function trialTable(state: StudyState): Html {
  const rows = state.trials.map((trial) => {
    const name = `${trial.number}${trial === state.best ? ' best' : ''}`;
    const assignment = describeAssignment(trial.candidate.assignment);
    const measurement = chosenOf(trial);
    if (trial.failure || !measurement) {
      return html`<tr class="failed"><td>${name}</td><td>${assignment}</td><td colspan="6">${trial.failure ? `${trial.failure.kind}: ${trial.failure.reason}` : 'not measured'}</td></tr>`;
    }
    const { throughput, latencyMs, level } = measurement;
    return html`<tr class="${trial.feasible ? '' : 'infeasible'}"><td>${name}</td><td>${assignment}</td><td>${level.value}</td>
<td>${formatRate(throughput.value)}</td><td>${formatFigure(throughput.low)} – ${formatFigure(throughput.high)}</td>
<td>${formatMs(latencyMs.p50)}</td><td>${formatMs(latencyMs.p99)}</td><td>${trial.feasible ? 'yes' : 'no'}</td></tr>`;
  });
  return html`<table><thead><tr><th>trial</th><th>assignment</th><th>${state.started.levels.mode}</th><th>throughput</th><th>95 % interval</th><th>p50</th><th>p99</th><th>feasible</th></tr></thead><tbody>${rows}</tbody></table>`;
}

function method(state: StudyState): Html {
  const { started, server, counts } = state;
  const facts: readonly (readonly [string, string])[] = [
    ['tritune', started.trituneVersion],
    [
      'server',
      `${server.name} ${server.version}, ${server.protocol} at ${server.url}, control over ${server.controlProtocol} at ${server.controlUrl}`,
    ],
    ['sampler', `${started.sampler}, seed ${started.seed}`],
    [
      'trials',
      `${counts.trials} (${counts.failed} failed), ${counts.measurements} measurements, ${counts.reloads} reloads`,
    ],
    ['time', formatDuration(state.finished?.wallSeconds ?? state.elapsedSeconds)],
    ['stopped because', state.finished?.stopReason ?? 'it is not finished'],
    ['model afterwards', state.restored ? `${state.restored.detail}` : 'not restored yet'],
    ['command', started.commandLine.join(' ')],
  ];
  return html`<dl>${facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

const chosenOf = (trial: Trial): Measurement | undefined =>
  trial.chosen === null ? undefined : trial.measurements[trial.chosen];

const style = new Html(`
:root { color-scheme: light dark; --ink: #1d2127; --page: #fff; --line: #d8dce2; --soft: #6b7280; --good: #2ca05a; --bad: #c0392b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --page: #15181c; --line: #333a43; --soft: #9aa3ae; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 small, dt, thead { color: var(--soft); font-weight: normal; }
.verdict { font-size: 1.2rem; }
.notice { border-left: 4px solid #e08a1e; padding-left: .8rem; }
figure { margin: 1rem 0; overflow-x: auto; } figure svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td:nth-child(n+3) { white-space: nowrap; } .failed td { white-space: normal; color: var(--bad); } .infeasible td { color: var(--soft); }
pre { border: 1px solid var(--line); padding: .8rem; overflow-x: auto; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; } dd { margin: 0; overflow-wrap: anywhere; }
`);
