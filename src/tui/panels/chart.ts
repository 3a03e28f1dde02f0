import { formatFigure } from '#base/format.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { StudyState } from '#study/records/state.ts';
import { rateUnitOfStudy } from '#study/summary/rate-unit.ts';
import type { PredictedPoint } from '#study/types.ts';
import { Canvas } from '../canvas.ts';
import { findFigures, isNormalised, meetsGoal } from '../figures.ts';
import { type Interaction, selectedTrial } from '../interaction.ts';
import { block, heading, type Row, row, type Size } from '../rows.ts';
import { isSearching, type ViewState } from '../state.ts';
import { axisWidth, horizontalAxis, ROWS_AROUND_CHART, roundUp, withVerticalAxis } from './axes.ts';
import { progressChart } from './progress-chart.ts';

/**
 * Latencies above this multiple of the budget are drawn at the right edge, to leave room for the
 * region of interest.
 */
const MAX_OVER_BUDGET = 2.5;
/** Predicted points extend the chart upwards up to this factor. */
const MAX_OVER_MEASURED = 2;
/** From this width on, the title has room to explain the thin line. */
const LEGEND_FROM = 37;

/** Draws the chart that the person has chosen. */
export const chartPanel = (view: ViewState, interaction: Interaction, size: Size): readonly Row[] =>
  (interaction.chart === 'front' ? frontPanel : progressChart)(view, interaction, size);

/**
 * Draws throughput upwards and the budgeted latency to the right: all measurements, the front, the
 * budget, the best, the current one.
 */
function frontPanel(view: ViewState, interaction: Interaction, size: Size): readonly Row[] {
  const { study } = view;
  const percentile = study?.goal.budget?.percentile ?? 99;
  const predictedFront = listPredictedFront(view);
  const legend = predictedFront.length > 0 && size.columns >= LEGEND_FROM ? '  ⠒⠒ predicted' : '';
  const measured = study?.trials.some((trial) => isNormalised(study, trial)) ? ', measured' : '';
  const axes = `${rateUnitOfStudy(study ?? { trials: [] })} over p${percentile} ms${measured}`;
  const title = heading(`${axes}${legend}`, size.columns);
  const points = study ? listMeasurements(study) : [];
  if (!study || points.length === 0) return block([title, row('  no measurements yet', 'muted')], size);
  const scale = computeScale(view, points, predictedFront, study.goal.budget?.latencyMs);
  const before = axisWidth(scale.throughput);
  const canvas = new Canvas(size.columns - before, size.rows - ROWS_AROUND_CHART);
  drawPredictedFront(canvas, predictedFront, scale);
  draw(canvas, view, study, interaction, scale);
  const { budgetMs, latencyMs } = scale;
  const isBudgetInSight = budgetMs !== undefined && budgetMs <= latencyMs;
  const mark = isBudgetInSight ? { share: budgetMs / latencyMs, text: formatFigure(budgetMs) } : null;
  const axis = horizontalAxis(latencyMs, { before, columns: canvas.columns }, mark);
  return block([title, ...withVerticalAxis(canvas.toRows(), scale.throughput), ...axis], size);
}

interface Scale {
  readonly throughput: number;
  readonly latencyMs: number;
  readonly budgetMs: number | undefined;
}

const listMeasurements = ({ trials, unfinished }: StudyState): readonly Measurement[] =>
  [...trials.flatMap(({ measurements }) => measurements), ...(unfinished?.measurements ?? [])].filter(
    ({ throughput, budgetLatencyMs }) => throughput.value > 0 && Number.isFinite(budgetLatencyMs.value),
  );

/** Returns the front that the sampler predicts, while the search goes on. */
const listPredictedFront = (view: ViewState): readonly PredictedPoint[] =>
  isSearching(view) ? view.predictedFront : [];

function computeScale(
  { activity }: ViewState,
  points: readonly Measurement[],
  predictedFront: readonly PredictedPoint[],
  budgetMs: number | undefined,
): Scale {
  const present = activity.kind === 'measuring' ? activity.throughput : 0;
  const measured = Math.max(present, ...points.map((point) => point.throughput.value));
  const hoped = predictedFront.filter(({ latencyMs }) => latencyMs <= (budgetMs ?? Number.POSITIVE_INFINITY));
  const highestHope = Math.max(0, ...hoped.map((point) => point.throughput));
  const throughput = roundUp(1.05 * Math.max(measured, Math.min(highestHope, MAX_OVER_MEASURED * measured)));
  const highest = 1.05 * Math.max(...points.map((point) => point.budgetLatencyMs.value), budgetMs ?? 0);
  const latencyMs = roundUp(budgetMs === undefined ? highest : Math.min(highest, MAX_OVER_BUDGET * budgetMs));
  return { throughput, latencyMs, budgetMs };
}

function draw(canvas: Canvas, view: ViewState, study: StudyState, interaction: Interaction, scale: Scale): void {
  const at = ({ throughput, budgetLatencyMs }: Measurement): [number, number] => [
    budgetLatencyMs.value / scale.latencyMs,
    throughput.value / scale.throughput,
  ];
  if (scale.budgetMs !== undefined && scale.budgetMs <= scale.latencyMs) {
    for (let line = 0; line < canvas.rows; line++)
      canvas.glyph(scale.budgetMs / scale.latencyMs, (line + 0.5) / canvas.rows, '╎', 'warning');
  }
  const front = study.front.map(({ measurement }) => at(measurement));
  for (const [index, point] of front.entries()) {
    const next = front[index + 1];
    if (next) canvas.line(point, next, 'front');
  }
  for (const point of listMeasurements(study)) canvas.glyph(...at(point), '·');
  for (const point of front) canvas.glyph(...point, '◆', 'front');
  const original = study.baseline && findFigures(study, study.baseline);
  if (original) canvas.glyph(...at(original), 'o', 'accent');
  const selected = selectedTrial(interaction, view);
  const looked = selected && findFigures(study, selected);
  if (looked && interaction.selected !== null) canvas.glyph(...at(looked), '●', 'strong');
  const best = study.best && findFigures(study, study.best);
  if (study.best && best) canvas.glyph(...at(best), '★', meetsGoal(study, study.best) ? 'good' : 'warning');
  const { activity } = view;
  if (activity.kind === 'measuring') {
    canvas.glyph(activity.latencyMs / scale.latencyMs, activity.throughput / scale.throughput, '▶', 'now');
  }
}

/** Draws only within the axes: points beyond would be drawn along the edge. */
function drawPredictedFront(canvas: Canvas, predictedFront: readonly PredictedPoint[], scale: Scale): void {
  const points = predictedFront.map(({ throughput, latencyMs }): [number, number] => [
    latencyMs / scale.latencyMs,
    throughput / scale.throughput,
  ]);
  for (const [index, point] of points.entries()) {
    const next = points[index + 1];
    if (next && Math.max(...point, ...next) <= 1) canvas.line(point, next, 'muted');
  }
}
