import { axisStyle, type Chart, type Link, powersOfTwo, renderSvg, toGrid } from './svg.ts';

/** One measurement by two figures, such as latency and throughput. */
export interface ChartPoint {
  readonly x: number;
  readonly y: number;
  readonly link: Link;
}

export interface FrontAxes {
  readonly x: string;
  readonly y: string;
  /** True if the first axis is in powers of two. */
  readonly isLogX: boolean;
  /** A limit on the first figure, and the text at its line; null for none. */
  readonly limit: { readonly value: number; readonly text: string } | null;
}

interface FrontLabel {
  readonly text: string;
  readonly side: Side;
  /** The side on a narrow page; defaults to the same side. */
  readonly narrowSide?: Side;
}
type Side = 'left' | 'right' | 'top' | 'bottom';

export interface FrontSeries {
  readonly name: string;
  readonly color: string;
  readonly size: number;
  readonly symbol: 'circle' | 'emptyCircle' | 'diamond' | 'rect' | 'triangle';
  readonly points: readonly ChartPoint[];
  /** The text next to its points, and its side; absent for none. */
  readonly label?: FrontLabel | null;
}

/** Draws two figures against each other: every measurement, the front as a line, and the budget. */
export function frontChart(series: readonly FrontSeries[], front: readonly ChartPoint[], axes: FrontAxes): Chart {
  const { limit } = axes;
  const shown = series.filter(({ points }) => points.length > 0);
  const values = shown.flatMap(({ points }) => points.map(({ x }) => x));
  const scale = axes.isLogX ? powersOfTwo([...values, limit?.value ?? 0]) : { type: 'value' as const, min: 0 };
  return (paper) =>
    renderSvg(
      {
        grid: toGrid(paper),
        legend: { top: 0, textStyle: { color: paper.ink }, itemGap: 24, data: shown.map(({ name }) => name) },
        xAxis: { ...axisStyle(paper), ...scale, name: axes.x, nameGap: 30 },
        yAxis: {
          ...axisStyle(paper),
          type: 'value',
          name: axes.y,
          nameGap: paper.isNarrow ? 42 : 58,
          // Room above the highest mark for its text, so that this stays below that of the limit.
          boundaryGap: [0, '16%'],
        },
        series: [
          ...shown.map(({ name, color, size, symbol, points, label }) => ({
            type: 'scatter',
            name,
            symbol,
            symbolSize: size,
            itemStyle: { color, opacity: 1 },
            z: size,
            ...(label && {
              label: {
                show: true,
                formatter: label.text,
                distance: 9,
                color: paper.ink,
                position: (paper.isNarrow && label.narrowSide) || label.side,
                // A page overrides white with its own colour, so that lines and marks behind the
                // text do not show through.
                backgroundColor: '#fff',
                padding: [1, 3],
              },
            }),
            data: points.map(({ x, y }) => [x, y]),
          })),
          {
            type: 'line',
            showSymbol: false,
            silent: true,
            z: 1,
            lineStyle: { color: '#2f7ed8', width: 1.5, opacity: 0.7 },
            data: front.map(({ x, y }) => [x, y]),
            ...(limit && { markLine: limitLine(limit) }),
          },
        ],
      },
      paper,
      (index, point) => shown[index]?.points[point]?.link ?? null,
    );
}

const limitLine = ({ value, text }: NonNullable<FrontAxes['limit']>) => ({
  symbol: 'none',
  silent: true,
  // Behind the texts next to marks.
  z: 0,
  lineStyle: { color: '#d33', type: 'dashed' as const },
  label: { formatter: text, color: '#d33' },
  data: [{ xAxis: value }],
});
