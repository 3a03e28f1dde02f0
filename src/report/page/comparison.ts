import { formatFigure } from '#base/format.ts';
import { representative } from '#study/final/final.ts';
import { metricCell, metricHead } from '#study/goal/metrics/format.ts';
import { toMetrics } from '#study/goal/metrics/registry.ts';
import { goalMetrics } from '#study/goal/metrics/shown.ts';
import type { StudyState } from '#study/records/state.ts';
import { describeCertificate } from '#study/summary/certificate-words.ts';
import { decidingFigures } from '#study/summary/deciding-figures.ts';
import { describeAssignment, describeChance, describeLevel, describePrediction } from '#study/summary/describe.ts';
import type { Recommendation, StandingPoint } from '#study/summary/point-schema.ts';
import { chooseRateUnit } from '#study/summary/rate-unit.ts';
import type { Summary } from '#study/summary/summary-schema.ts';
import { isOriginal } from '#study/summary/verdict.ts';
import { type Html, html, none } from '../html.ts';
import { costText, gainText, levelText } from './verdict.ts';

/** Returns the best and the original side by side, with their intervals. */
export function comparison(state: StudyState, summary: Summary): Html {
  const { best, baseline, certificate } = summary;
  if (!best) return none;
  const isBaseline = isOriginal(best, baseline);
  const points: readonly (readonly [string, StandingPoint])[] = [
    [isBaseline ? 'the original, the best' : `best: trial ${best.trial}`, best],
    ...(baseline && !isBaseline ? [['original config', baseline] as const] : []),
  ];
  const rows: readonly PointRow[] = [
    ['config', (point) => describeAssignment(point.assignment)],
    ['measured at', (point) => describeLevel(point.load)],
    [`throughput, ${chooseRateUnit(best)}`, (point) => withInterval(decidingFigures(point).throughput)],
    [
      `p${best.budgetLatencyMs.percentile} latency, ms`,
      (point) => withInterval(decidingFigures(point).budgetLatencyMs),
    ],
    ...latencyRows(best),
    ...goalRows(state),
    ...levelRows(points.map(([, point]) => point)),
    ...measuredRows(
      points.map(([, point]) => point),
      best.budgetLatencyMs.percentile,
    ),
    ['failed requests', ({ errorRate }) => `${formatFigure(100 * (errorRate ?? Number.NaN))} %`],
    ['stable', ({ stable }) => (stable ? 'yes' : 'no, at the maximum number of windows')],
    ['meets the goal', ({ feasible }) => (feasible ? 'yes' : 'no')],
  ];
  const words = [levelText(summary), costText(summary)].filter((text) => text !== '').join(' ');
  return html`<h2>Best and original</h2>
${words === '' ? none : html`<p>${words}</p>`}
<div class="scroll"><table class="facts pair"><thead><tr><th></th>${points.map(([name]) => html`<th>${name}</th>`)}</tr></thead><tbody>
${rows.map(([name, of]) => html`<tr><th scope="row">${name}</th>${points.map(([, point]) => html`<td>${of(point)}</td>`)}</tr>\n`)}
</tbody></table></div>
<p class="soft">Ranges are 95 % intervals. ${points.some(([, { compared }]) => compared) ? "Figures are normalised to the machine's usual speed, unless they are called measured. " : ''}${points.length === 2 ? gainNote(summary) : ''}</p>
${best.predicted ? html`<p class="soft">Predicted from other measurements: ${describePrediction(best.predicted, chooseRateUnit(best))}.</p>` : none}
${certificate ? html`<p class="soft">Certificate: ${describeCertificate(certificate)}.</p>` : none}`;
}

/** Returns the metrics of the goal that no other row shows. */
function goalRows(state: StudyState): readonly PointRow[] {
  const metrics = toMetrics(state.goal);
  return goalMetrics(state.goal, TOLD_BY_ROWS).map((metric) => [
    metricHead(metric),
    (point) => {
      const trial = state.trials.find(({ number }) => number === point.trial);
      const compared = trial && representative(state, trial)?.compared;
      return metricCell(metric, compared && metrics.read(metric.name, compared, trial.candidate));
    },
  ]);
}

const TOLD_BY_ROWS = [
  ...['throughput', 'latency', 'latency-avg', 'latency-p50', 'latency-p90', 'latency-p95', 'latency-p99'],
  'error-rate',
];

type PointRow = readonly [string, (point: StandingPoint) => string];

/** Returns each curve's result for the budget; no rows without a budget. */
function levelRows(points: readonly StandingPoint[]): readonly PointRow[] {
  if (points.every(({ recommended }) => recommended === null)) return [];
  const name = points.some(({ recommended }) => recommended?.of === 'batch') ? 'client batch' : 'level';
  const of =
    (text: (recommended: Recommendation) => string) =>
    ({ recommended }: StandingPoint): string =>
      recommended ? text(recommended) : '–';
  return [
    ['probability of meeting the budget', of(({ chance }) => describeChance(chance))],
    [`${name} that meets it with 90 % probability`, of(({ level }) => `${level ?? 'none'}`)],
    [`${name} that meets it with 99 % probability`, of(({ safeLevel }) => `${safeLevel ?? 'none'}`)],
    ['headroom', of(({ margin }) => (margin < 0 ? `none, ${toPercent(-margin)} over` : toPercent(margin)))],
  ];
}

const toPercent = (share: number): string => `${Math.round(100 * share)} %`;

/**
 * Returns the latencies other than the budgeted percentile, which has its own row. At a request
 * rate, that row counts from the due time, and these from the sending.
 */
function latencyRows({ budgetLatencyMs, openLoop }: StandingPoint): readonly PointRow[] {
  const names = (['avg', 'p50', 'p90', 'p95', 'p99'] as const).filter(
    (name) => openLoop || name !== `p${budgetLatencyMs.percentile}`,
  );
  return names.map((name) => [
    `${name === 'avg' ? 'mean' : name}${openLoop ? ' from sending' : ''}, ms`,
    (point) => formatFigure(decidingFigures(point).latencyMs[name] ?? Number.NaN),
  ]);
}

/** Returns the measured figures, if the machine's speed was unusual during a measurement. */
function measuredRows(points: readonly StandingPoint[], percentile: number): readonly PointRow[] {
  if (points.every(({ compared }) => compared === null)) return [];
  return [
    [`measured, ${chooseRateUnit(points[0] ?? {})}`, ({ throughput }) => withInterval(throughput)],
    [`measured, p${percentile}, ms`, ({ budgetLatencyMs }) => withInterval(budgetLatencyMs)],
  ];
}

function gainNote(summary: Summary): string {
  const gained = gainText(summary);
  return gained
    ? `The gain, ${gained}, comes from alternating runs of both configs, so it may differ from the ratio of the two columns.`
    : 'There was no final, so the gain was not measured in alternating runs. The ratio of the columns compares two different times.';
}

function withInterval({ value, low, high }: { value: number | null; low: number | null; high: number | null }): string {
  if (value === null) return '–';
  if (low === null || high === null) return formatFigure(value);
  return `${formatFigure(value)} (${formatFigure(low)} to ${formatFigure(high)})`;
}
