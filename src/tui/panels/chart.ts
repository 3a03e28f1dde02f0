import { formatFigure } from '../../base/format.ts';
import type { Measurement } from '../../profiler/measurement.ts';
import type { StudyState } from '../../study/records/state.ts';
import { rateUnitOfStudy } from '../../study/summary/describe.ts';
import type { PredictedPoint } from '../../study/types.ts';
import { Canvas } from '../canvas.ts';
import { figuresOf, meetsGoal } from '../figures.ts';
import { type Interaction, selectedTrial } from '../interaction.ts';
import { block, heading, type Row, right, row, type Size, span } from '../rows.ts';
import { isSearching, type ViewState } from '../state.ts';

/** Latencies above this multiple of the budget are drawn at the upper edge, to leave room for the region of interest. */
const MOST_OVER_BUDGET = 2.5;
/** Predicted points extend the chart to the right up to this factor. */
const MOST_OVER_MEASURED = 2;
const AXIS = 8;
/** From this width on, the title has room to explain the thin line. */
const LEGEND_FROM = 37;

/** Draws throughput to the right and the budgeted latency upwards: all measurements, the front, the budget, the best, the current one. */
export function chartPanel(view: ViewState, interaction: Interaction, size: Size): readonly Row[] {
  const { study } = view;
  const percentile = study?.goal.budget?.percentile ?? 99;
  const predictedFront = predictedFrontOf(view);
  const legend = predictedFront.length > 0 && size.columns >= LEGEND_FROM ? '  ⠒⠒ predicted' : '';
  const title = heading(`p${percentile} ms over ${study ? rateUnitOfStudy(study) : 'infer/s'}${legend}`, size.columns);
  const points = study ? measurementsOf(study) : [];
  if (!study || points.length === 0) return block([title, row('  no measurements yet', 'muted')], size);
  const [columns, rows] = [size.columns - AXIS, size.rows - 3];
  const scale = scaleOf(view, points, predictedFront, study.goal.budget?.latencyMs);
  const canvas = new Canvas(columns, rows);
  drawPredictedFront(canvas, predictedFront, scale);
  draw(canvas, view, study, interaction, scale);
  const lines = canvas.toRows().map((line, index) => [span(axisLabel(index, rows, scale), 'muted'), ...line]);
  return block([title, ...lines, ...footRows(scale, columns)], size);
}

interface Scale {
  readonly throughput: number;
  readonly latencyMs: number;
  readonly budgetMs: number | undefined;
}

const measurementsOf = ({ trials, unfinished }: StudyState): readonly Measurement[] =>
  [...trials.flatMap(({ measurements }) => measurements), ...(unfinished?.measurements ?? [])].filter(
    ({ throughput, budgetLatencyMs }) => throughput.value > 0 && Number.isFinite(budgetLatencyMs.value),
  );

/** Returns the front that the sampler predicts, while the search goes on. */
const predictedFrontOf = (view: ViewState): readonly PredictedPoint[] => (isSearching(view) ? view.predictedFront : []);

function scaleOf(
  { activity }: ViewState,
  points: readonly Measurement[],
  predictedFront: readonly PredictedPoint[],
  budgetMs: number | undefined,
): Scale {
  const present = activity.kind === 'measuring' ? activity.throughput : 0;
  const measured = Math.max(present, ...points.map((point) => point.throughput.value));
  const hoped = predictedFront.filter(({ latencyMs }) => latencyMs <= (budgetMs ?? Number.POSITIVE_INFINITY));
  const highestHope = Math.max(0, ...hoped.map((point) => point.throughput));
  const throughput = roundUp(1.05 * Math.max(measured, Math.min(highestHope, MOST_OVER_MEASURED * measured)));
  const highest = 1.05 * Math.max(...points.map((point) => point.budgetLatencyMs.value), budgetMs ?? 0);
  const latencyMs = roundUp(budgetMs === undefined ? highest : Math.min(highest, MOST_OVER_BUDGET * budgetMs));
  return { throughput, latencyMs, budgetMs };
}

/** Rounds up to the next of 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8 times a power of ten, so that the axes stay put as points arrive. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((each) => each * power >= value * (1 - 1e-9));
  return (step ?? 10) * power;
}

function draw(canvas: Canvas, view: ViewState, study: StudyState, interaction: Interaction, scale: Scale): void {
  const at = ({ throughput, budgetLatencyMs }: Measurement): [number, number] => [
    throughput.value / scale.throughput,
    budgetLatencyMs.value / scale.latencyMs,
  ];
  if (scale.budgetMs !== undefined && scale.budgetMs <= scale.latencyMs) {
    for (let x = 0; x < canvas.columns; x += 2)
      canvas.glyph((x + 0.5) / canvas.columns, scale.budgetMs / scale.latencyMs, '╌', 'warning');
  }
  const front = study.front.map(({ measurement }) => at(measurement));
  for (const [index, point] of front.entries()) {
    const next = front[index + 1];
    if (next) canvas.line(point, next, 'front');
  }
  for (const point of measurementsOf(study)) canvas.glyph(...at(point), '·');
  for (const point of front) canvas.glyph(...point, '◆', 'front');
  const original = study.baseline && figuresOf(study, study.baseline);
  if (original) canvas.glyph(...at(original), 'o', 'accent');
  const selected = selectedTrial(interaction, view);
  const looked = selected && figuresOf(study, selected);
  if (looked && interaction.selected !== null) canvas.glyph(...at(looked), '●', 'strong');
  const best = study.best && figuresOf(study, study.best);
  if (study.best && best) canvas.glyph(...at(best), '★', meetsGoal(study, study.best) ? 'good' : 'warning');
  const { activity } = view;
  if (activity.kind === 'measuring') {
    canvas.glyph(activity.throughput / scale.throughput, activity.latencyMs / scale.latencyMs, '▶', 'now');
  }
}

/** Draws only within the axes: points beyond would be drawn along the edge. */
function drawPredictedFront(canvas: Canvas, predictedFront: readonly PredictedPoint[], scale: Scale): void {
  const points = predictedFront.map(({ throughput, latencyMs }): [number, number] => [
    throughput / scale.throughput,
    latencyMs / scale.latencyMs,
  ]);
  for (const [index, point] of points.entries()) {
    const next = points[index + 1];
    if (next && Math.max(...point, ...next) <= 1) canvas.line(point, next, 'muted');
  }
}

/** Returns labels of the vertical axis: at the top, at the budget, at the bottom. */
function axisLabel(index: number, rows: number, { latencyMs, budgetMs }: Scale): string {
  // In the canvas' own units: dots, four to a row.
  const rowOf = (value: number): number => Math.round((1 - value / latencyMs) * (rows * 4 - 1)) >> 2;
  const isBudget = budgetMs !== undefined && budgetMs <= latencyMs && index === rowOf(budgetMs);
  const text = isBudget
    ? formatFigure(budgetMs)
    : index === 0
      ? formatFigure(latencyMs)
      : index === rows - 1
        ? '0'
        : '';
  return `${right(text, AXIS - 2)} ${isBudget ? '╎' : '│'}`;
}

function footRows({ throughput }: Scale, columns: number): readonly Row[] {
  const end = formatFigure(throughput);
  const middle = formatFigure(throughput / 2);
  const room = Math.max(0, Math.floor(columns / 2) - middle.length);
  const labels = `0${' '.repeat(Math.max(1, room - 1))}${middle}`;
  const rest = Math.max(1, columns - labels.length - end.length);
  return [
    row(`${' '.repeat(AXIS - 1)}└${'─'.repeat(columns)}`, 'muted'),
    row(`${' '.repeat(AXIS)}${labels}${' '.repeat(rest)}${end}`, 'muted'),
  ];
}
