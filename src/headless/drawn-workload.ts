import { formatDuration, formatFigure, formatMs, plainLine } from '#base/format.ts';
import { NS_PER_MS } from '#base/units.ts';
import type { PlanFigures } from '#workload/figures.ts';
import type { ClassLimits, WorkloadClass } from '#workload/workload.ts';

/** The input of a workload's drawing. */
export interface DrawnWorkload {
  readonly name: string;
  readonly classes: readonly WorkloadClass[];
  readonly figures: PlanFigures;
  /** Requests per second of each class, in `CHART_COLUMNS` equal parts of the plan. */
  readonly rates: readonly Float64Array[];
  /** Seconds of the workload as written. */
  readonly naturalS: number;
  /** True if its rates are scaled. */
  readonly isScaled: boolean;
}

export const CHART_COLUMNS = 64;
const CHART_ROWS = 8;
const AXIS_WIDTH = 10;
/** Eighths of a cell, from empty to full. */
const BARS = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const MAX_CLASSES = 20;

/**
 * Returns a workload for people: its figures, its rate over time, and a row for each class on the
 * same axis.
 */
export function drawnWorkloadLines(drawn: DrawnWorkload): readonly string[] {
  const { name, classes, figures, rates, naturalS, isScaled } = drawn;
  const { requests, durationS } = figures;
  const kept = isScaled ? '' : ', rates as they are';
  const shortened = Math.abs(durationS / naturalS - 1) > 1e-6 ? ` (of ${formatDuration(naturalS)}${kept})` : '';
  return [
    `${plainLine(name, 80)}: ${formatFigure(requests)} requests in ${formatDuration(durationS)}${shortened}`,
    '',
    ...figureLines(figures),
    '',
    ...chartLines(sumRates(rates)),
    axisLine(durationS),
    '',
    ...classLines(classes, figures, rates),
  ];
}

function figureLines({
  meanPerSecond,
  peakOver1s,
  peakOver10s,
  gapCv,
  dispersion,
  dispersionWindowS,
}: PlanFigures): string[] {
  const window = formatDuration(dispersionWindowS);
  const rows: readonly (readonly [string, number | null, string])[] = [
    ['mean', meanPerSecond, ' requests/s'],
    ['peak over 1 s', peakOver1s, formatTimes(peakOver1s, meanPerSecond)],
    ['peak over 10 s', peakOver10s, formatTimes(peakOver10s, meanPerSecond)],
    ['cv of the gaps', gapCv, '  (0 evenly spaced, 1 Poisson, more: bursts)'],
    [`dispersion in ${window}`, dispersion, '  (variance of the counts over their mean: 1 Poisson)'],
  ];
  return rows.flatMap(([label, value, more]) =>
    value === null ? [] : [`  ${label.padEnd(20)}${formatFigure(value).padStart(8)}${more}`],
  );
}

const formatTimes = (peak: number | null, mean: number): string =>
  peak === null ? '' : ` requests/s, ${formatFigure(peak / mean)} times the mean`;

const sumRates = (rates: readonly Float64Array[]): Float64Array =>
  Float64Array.from({ length: CHART_COLUMNS }, (_, column) =>
    rates.reduce((sum, classRates) => sum + (classRates[column] as number), 0),
  );

function chartLines(total: Float64Array): string[] {
  const most = Math.max(...total);
  return Array.from({ length: CHART_ROWS }, (_, row) => {
    const below = CHART_ROWS - 1 - row;
    const label = row === 0 ? formatFigure(most) : row === CHART_ROWS / 2 ? formatFigure(most / 2) : '';
    return `${label.padStart(AXIS_WIDTH - 2)} ${label === '' ? '│' : '┤'}${drawBars(total, most, below)}`.trimEnd();
  });
}

/**
 * Returns one row of a chart with this many rows, counted from below. A rate above 0 is always
 * visible in the lowest row.
 */
function drawBars(rates: Float64Array, most: number, below: number, rows = CHART_ROWS): string {
  return Array.from(rates, (rate) => {
    const eighths = (rate / most) * rows * 8 - below * 8;
    const shown = rate > 0 && below === 0 ? Math.max(1, Math.round(eighths)) : Math.round(eighths);
    return BARS[Math.min(8, Math.max(0, shown))] as string;
  }).join('');
}

function axisLine(durationS: number): string {
  const marks = [0, 0.5, 1].map((share) => formatDuration(durationS * share));
  const [start = '', middle = '', end = ''] = [marks[0] === '0 ms' ? '0' : marks[0], marks[1], marks[2]];
  const line = start.padEnd(Math.round(CHART_COLUMNS / 2 - middle.length / 2)) + middle;
  return ' '.repeat(AXIS_WIDTH) + line.padEnd(CHART_COLUMNS - end.length) + end;
}

function classLines(classes: readonly WorkloadClass[], figures: PlanFigures, rates: readonly Float64Array[]): string[] {
  const order = figures.classes.map((_, index) => index);
  if (order.length > MAX_CLASSES) order.sort((a, b) => countRequests(figures, b) - countRequests(figures, a));
  const shown = order.slice(0, MAX_CLASSES);
  const width = Math.max(5, ...shown.map((index) => formatName(figures, index).length));
  const titles = ['requests', 'share', 'mean/s', '10 s peak'].map((title) => title.padStart(10)).join('');
  const rows = shown.flatMap((index) => {
    const { requests, share, meanPerSecond, peakOver10s } = figures.classes[index] as PlanFigures['classes'][number];
    const rate = rates[index] as Float64Array;
    const cells = [formatFigure(requests), `${formatFigure(share * 100)} %`, formatFigure(meanPerSecond)];
    const peak = peakOver10s === null ? '–' : formatFigure(peakOver10s);
    const row = [...cells, peak].map((cell) => cell.padStart(10)).join('');
    const chart = `${' '.repeat(AXIS_WIDTH)}${drawBars(rate, Math.max(...rate, Number.MIN_VALUE), 0, 1)}`.trimEnd();
    const { limits, model } = classes[index] as WorkloadClass;
    return [
      `  ${formatName(figures, index).padEnd(width)}${row}  ${[modelText(model), limitText(limits)].filter(Boolean).join(', ')}`.trimEnd(),
      chart,
    ];
  });
  const rest = order.length - shown.length;
  return [`  ${'class'.padEnd(width)}${titles}`, ...rows, ...(rest > 0 ? [`  and ${rest} rarer classes`] : [])];
}

const countRequests = ({ classes }: PlanFigures, index: number): number => classes[index]?.requests ?? 0;
const formatName = ({ classes }: PlanFigures, index: number): string => plainLine(classes[index]?.name ?? '', 40);
const modelText = (model: string | undefined): string => (model === undefined ? '' : `model ${plainLine(model, 40)}`);

function limitText({ e2eNs, ttftNs, itlNs, tpotNs }: ClassLimits): string {
  const named = { '': e2eNs, 'TTFT ': ttftNs, 'ITL ': itlNs, 'TPOT ': tpotNs };
  const texts = Object.entries(named).flatMap(([name, ns]) =>
    ns === undefined ? [] : [`${name}${formatMs(ns / NS_PER_MS)}`],
  );
  return texts.length === 0 ? '' : `within ${texts.join(', ')}`;
}
