import { formatFigure } from '#base/format.ts';
import type { ClassFigures, Measurement } from '#profiler/measurement.ts';
import type { Interval } from '#stats/interval.ts';
import { representative } from '#study/final/final.ts';
import type { StudyState } from '#study/records/state.ts';
import { describeLevel } from '#study/summary/describe.ts';
import type { Trial } from '#study/types.ts';
import { type Html, html, none } from '../html.ts';
import { table } from './table.ts';

const heads = [
  ...['', 'class', 'load', 'requests', 'failed', 'requests/s', 'within the limits, /s'],
  ...['mean, ms', 'median, ms', 'budgeted percentile, ms'],
];

/**
 * Returns the figures of each request class, for the best and the original; empty if requests have
 * no classes.
 */
export function classesSection(state: StudyState): Html {
  const rows = [
    ...listRows(state, state.best, 'best'),
    ...(state.best === state.baseline ? [] : listRows(state, state.baseline, 'original')),
  ];
  if (rows.length === 0) return none;
  return html`<h2>Request classes</h2>
${table({ id: 'classes', heads, rows })}
<p class="soft">At a request rate, latency counts from the time at which a request was due, and a request that was not sent counts as failed. Ranges are 95 % intervals.</p>`;
}

function listRows(state: StudyState, trial: Trial | null, name: string): readonly (readonly string[])[] {
  const measurement = trial && representative(state, trial)?.measurement;
  if (!measurement) return [];
  const rows = (measurement.classes ?? []).map((each) => row(name, each, measurement));
  const underEach = (measurement.workloads ?? []).flatMap((under) =>
    (under.classes ?? []).map((each) => row(`${name} under ${under.workload}`, each, under)),
  );
  return [...rows, ...underEach];
}

function row(of: string, each: ClassFigures, { level }: Pick<Measurement, 'level'>): readonly string[] {
  const { name, model, requests, failures, throughput, goodput, latencyMs, budgetLatencyMs } = each;
  const tail = budgetLatencyMs ? `p${budgetLatencyMs.percentile} ${withInterval(budgetLatencyMs)}` : '–';
  return [
    of,
    model === undefined ? name : `${name} (${model})`,
    describeLevel(level),
    formatFigure(requests),
    formatFigure(failures),
    formatFigure(throughput.value),
    goodput ? withInterval(goodput) : '–',
    formatFigure(latencyMs.avg),
    formatFigure(latencyMs.p50),
    tail,
  ];
}

const withInterval = ({ value, low, high }: Interval): string =>
  `${formatFigure(value)} (${formatFigure(low)} to ${formatFigure(high)})`;
