import { formatFigure, formatMs, formatRate, formatRatio } from '../../base/format.ts';
import {
  describeAssignment,
  describeChance,
  describeGainIn,
  describeLevel,
  describePrediction,
  describeRecommendation,
} from '../../study/describe.ts';
import type { Recommendation } from '../../study/level/recommendation.ts';
import { describeNoise, noiseSentence } from '../../study/noise-words.ts';
import type { StudyState } from '../../study/state.ts';
import type { StandingPoint, Summary } from '../../study/summary.ts';
import { type Html, html, none } from '../html.ts';

/** What came of the study in one sentence. */
export function verdict(summary: Summary): string {
  const { best, baseline, budget, feasible } = summary;
  const gained = gainText(summary);
  if (!best) return 'Nothing could be measured.';
  const { throughput, budgetLatencyMs } = best;
  const what = `${rate(throughput.value)} at p${budgetLatencyMs.percentile} ${formatMs(budgetLatencyMs.value ?? Number.NaN)}`;
  const within = budget ? ` within the budget of ${formatMs(budget.latencyMs)}` : '';
  if (!feasible) return `No configuration met the constraints; the nearest gives ${what}.`;
  if (best.trial === baseline?.trial) return `The original config is the best found: ${what}${within}.`;
  return `Trial ${best.trial} serves ${what}${within}${gained ? `, ${gained}` : ''}.`;
}

function gainText({ gain, objectives }: Summary): string | null {
  if (!gain) return null;
  const { ratio, low, high } = gain;
  const interval = low !== null && high !== null ? `95 % interval ${formatRatio(low)} to ${formatRatio(high)}, ` : '';
  const by = describeGainIn(objectives);
  return `${formatRatio(ratio ?? Number.NaN)} ${by === '' ? '' : 'as good as '}the original config${by} (${interval}measured in turn)`;
}

function gainNote(summary: Summary): string {
  const gained = gainText(summary);
  return gained
    ? `The gain, ${gained}, is of the two alternately under the same conditions, not of the columns' quotient.`
    : 'The gain was not measured: the final, which takes the two in turn, was not done. Their quotient is of two different times.';
}

const rate = (value: number | null): string => formatRate(value ?? Number.NaN);

/** What a reader must know before any figure. */
export function notices(
  { server, finished }: StudyState,
  { rejected, clientBound, noiseFloor, budget }: Summary,
): Html {
  const noise = noiseFloor && describeNoise(noiseFloor, budget);
  const told = [
    ...(server.emulated === null ? [] : ["These figures are of tritune's emulator, not of a real server."]),
    ...(finished === null ? ['This run is not finished: what follows is what its journal holds so far.'] : []),
    ...(finished?.interrupted ? ['This run was interrupted before its search was over.'] : []),
    ...(rejected ? [`Trial ${rejected.trial} was not taken: ${rejected.reason}.`] : []),
    ...(noise && noise.tone !== 'quiet'
      ? [`When the study began: ${noiseSentence(noise)}.${noise.advice === null ? '' : ` ${capital(noise.advice)}.`}`]
      : []),
    ...(clientBound
      ? [
          `${clientBound.measurements} measurement${clientBound.measurements === 1 ? '' : 's'} do not count because the load generator was the limit: ${clientBound.reason}.`,
        ]
      : []),
  ];
  return html`${told.map((text) => html`<p class="notice">${text}</p>`)}`;
}

const capital = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;

/** The best and the original side by side, with their intervals. */
export function comparison(summary: Summary): Html {
  const { best, baseline } = summary;
  if (!best) return none;
  const isBaseline = baseline?.trial === best.trial;
  const points: readonly (readonly [string, StandingPoint])[] = [
    [isBaseline ? 'the original, the best' : `best: trial ${best.trial}`, best],
    ...(baseline && !isBaseline ? [['original config', baseline] as const] : []),
  ];
  const rows: readonly PointRow[] = [
    ['config', (point) => describeAssignment(point.assignment)],
    ['measured at', (point) => describeLevel(point.load)],
    ['throughput, infer/s', ({ throughput }) => withInterval(throughput)],
    [`p${best.budgetLatencyMs.percentile} latency, ms`, ({ budgetLatencyMs }) => withInterval(budgetLatencyMs)],
    ...(['avg', 'p50', 'p90', 'p95', 'p99'] as const).map(
      (name) =>
        [
          `${name === 'avg' ? 'mean' : name}, ms`,
          ({ latencyMs }: StandingPoint) => formatFigure(latencyMs[name] ?? Number.NaN),
        ] as const,
    ),
    ...levelRows(points.map(([, point]) => point)),
    ...speedRows(
      points.map(([, point]) => point),
      best.budgetLatencyMs.percentile,
    ),
    ['failed requests', ({ errorRate }) => `${formatFigure(100 * (errorRate ?? Number.NaN))} %`],
    ['figures settled', ({ stable }) => (stable ? 'yes' : 'no, the limit of windows came first')],
    ['meets the goal', ({ feasible }) => (feasible ? 'yes' : 'no')],
  ];
  return html`<h2>Best and original</h2>
<div class="scroll"><table class="facts"><thead><tr><th></th>${points.map(([name]) => html`<th>${name}</th>`)}</tr></thead><tbody>
${rows.map(([name, of]) => html`<tr><th scope="row">${name}</th>${points.map(([, point]) => html`<td>${of(point)}</td>`)}</tr>\n`)}
</tbody></table></div>
<p class="soft">Ranges are 95 % intervals. ${points.length === 2 ? gainNote(summary) : ''}</p>
${best.predicted ? html`<p class="soft">Predicted without its own measurements: ${describePrediction(best.predicted, best.compared)}.</p>` : none}`;
}

type PointRow = readonly [string, (point: StandingPoint) => string];

/** What the curve of each says of the budget; no rows where there is none. */
function levelRows(points: readonly StandingPoint[]): readonly PointRow[] {
  if (points.every(({ recommended }) => recommended === null)) return [];
  const of =
    (text: (recommended: Recommendation) => string) =>
    ({ recommended }: StandingPoint): string =>
      recommended ? text(recommended) : '–';
  return [
    ['chance to keep the budget', of(({ chance }) => describeChance(chance))],
    ['level for 90 % chance', of(({ level }) => `${level ?? 'none'}`)],
    ['level for 99 % chance', of(({ safeLevel }) => `${safeLevel ?? 'none'}`)],
    ['of the budget left', of(({ margin }) => `${Math.round(100 * margin)} %`)],
  ];
}

/** What the two are compared by, where the machine had another speed than usual when one was measured. */
function speedRows(points: readonly StandingPoint[], percentile: number): readonly PointRow[] {
  if (points.every(({ compared }) => compared === null)) return [];
  return [
    ['at the usual speed, infer/s', (point) => withInterval((point.compared ?? point).throughput)],
    [`at the usual speed, p${percentile}, ms`, (point) => withInterval((point.compared ?? point).budgetLatencyMs)],
  ];
}

/** How well the best keeps the budget; '' where the goal has no curve. */
export function levelText({ best, budget }: Summary): string {
  if (!best?.recommended || !budget) return '';
  return `It ${describeRecommendation(best.recommended, budget, best.load)}.`;
}

function withInterval({ value, low, high }: { value: number | null; low: number | null; high: number | null }): string {
  if (value === null) return '–';
  if (low === null || high === null) return formatFigure(value);
  return `${formatFigure(value)} (${formatFigure(low)} to ${formatFigure(high)})`;
}
