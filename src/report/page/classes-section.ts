import { formatFigure } from '../../base/format.ts';
import type { ClassFigures, Measurement } from '../../profiler/measurement.ts';
import type { Interval } from '../../stats/interval.ts';
import { representative } from '../../study/final/final.ts';
import type { StudyState } from '../../study/records/state.ts';
import { describeLevel } from '../../study/summary/describe.ts';
import type { Trial } from '../../study/types.ts';
import { type Html, html, none } from '../html.ts';

/** Returns the figures of each request class, for the best and the original; empty if requests have no classes. */
export function classesSection(state: StudyState): Html {
  const told = [
    ...rowsOf(state, state.best, 'best'),
    ...(state.best === state.baseline ? [] : rowsOf(state, state.baseline, 'original')),
  ];
  if (told.length === 0) return none;
  return html`<h2>Request classes</h2>
<div class="scroll"><table id="classes"><thead><tr><th></th><th>class</th><th>load</th><th>requests</th><th>failed</th><th>requests/s</th><th>within the limits, /s</th><th>mean, ms</th><th>median, ms</th><th>budgeted percentile, ms</th></tr></thead>
<tbody>${told}</tbody></table></div>
<p class="soft">At a request rate latency counts from the time that a request was due, and a request that was not sent counts as failed. In brackets 95 % intervals.</p>`;
}

function rowsOf(state: StudyState, trial: Trial | null, name: string): readonly Html[] {
  const measurement = trial && representative(state, trial)?.measurement;
  if (!measurement) return [];
  const own = (measurement.classes ?? []).map((each) => row(name, each, measurement));
  const underEach = (measurement.workloads ?? []).flatMap((under) =>
    (under.classes ?? []).map((each) => row(`${name} under ${under.workload}`, each, under)),
  );
  return [...own, ...underEach];
}

function row(of: string, each: ClassFigures, { level }: Pick<Measurement, 'level'>): Html {
  const { name, model, requests, failures, throughput, goodput, latencyMs, budgetLatencyMs } = each;
  const tail = budgetLatencyMs ? `p${budgetLatencyMs.percentile} ${withInterval(budgetLatencyMs)}` : '–';
  return html`<tr><th scope="row">${of}</th><td>${model === undefined ? name : `${name} (${model})`}</td><td>${describeLevel(level)}</td><td>${formatFigure(requests)}</td><td>${formatFigure(failures)}</td><td>${formatFigure(throughput.value)}</td><td>${goodput ? withInterval(goodput) : '–'}</td><td>${formatFigure(latencyMs.avg)}</td><td>${formatFigure(latencyMs.p50)}</td><td>${tail}</td></tr>
`;
}

const withInterval = ({ value, low, high }: Interval): string =>
  `${formatFigure(value)} (${formatFigure(low)} to ${formatFigure(high)})`;
