import { axisStyle, type Chart, renderSvg, toGrid } from './svg.ts';

/** A kind of phase, with its spans on the rows of the chart. */
export interface PhaseSeries {
  readonly name: string;
  readonly color: string;
  readonly spans: readonly { readonly row: number; readonly start: number; readonly end: number }[];
}

/** Pixels of a row, and of all rows together where there are many: a study may have thousands. */
const ROW = { most: 24, all: 480 };
/** The share of a row that its line takes. */
const THICKNESS = 0.7;
const LEGEND_HEIGHT = 40;
const AXIS_HEIGHT = 52;

/** Draws phases over time, a row for each name, the first on top. `axis`: what the spans are in. */
export function phasesChart(rows: readonly string[], series: readonly PhaseSeries[], axis: string): Chart {
  const rowPixels = Math.min(ROW.most, ROW.all / Math.max(1, rows.length));
  const end = Math.max(0, ...series.flatMap(({ spans }) => spans.map((span) => span.end)));
  return (paper) =>
    renderSvg(
      {
        grid: { ...toGrid(paper, LEGEND_HEIGHT), left: paper.isNarrow ? 58 : 92 },
        legend: { top: 0, textStyle: { color: paper.ink }, itemHeight: 10, icon: 'rect' },
        xAxis: { ...axisStyle(paper), type: 'value', min: 0, max: Number(end.toPrecision(3)), name: axis, nameGap: 30 },
        yAxis: { ...axisStyle(paper), type: 'category', inverse: true, data: rows, splitLine: { show: false } },
        // Two points for each span: the null after them ends the line.
        series: series.map(({ name, color, spans }) => ({
          type: 'line',
          name,
          silent: true,
          symbol: 'none',
          itemStyle: { color },
          lineStyle: { color, width: THICKNESS * rowPixels },
          data: spans.flatMap(({ row, start, end: until }) => [[start, row], [until, row], null]),
        })),
      },
      {
        ...paper,
        height: LEGEND_HEIGHT + AXIS_HEIGHT + (paper.isNarrow ? 34 : 0) + rowPixels * Math.max(2, rows.length),
      },
    );
}
