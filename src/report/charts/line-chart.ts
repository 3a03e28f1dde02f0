import { axisStyle, type Chart, powersOfTwo, renderSvg, toGrid } from './svg.ts';

export interface LineSeries {
  readonly name: string;
  readonly points: readonly (readonly [number, number])[];
  /** The text next to each point. */
  readonly labels?: readonly string[];
}

export interface Axes {
  readonly x: string;
  readonly y: string;
  /** True for axes in powers of two, for figures that double from point to point. */
  readonly isLogX: boolean;
  readonly isLogY?: boolean;
}

/**
 * Colours that suit light and dark paper. Each has a symbol, for readers who cannot tell them
 * apart.
 */
const colours = ['#2ca05a', '#e08a1e', '#2f7ed8', '#b05cc8', '#d0505a', '#2aa5b5', '#9a7a2c', '#888f9a'];
const symbols = ['circle', 'rect', 'triangle', 'diamond', 'arrow', 'emptyCircle', 'emptyRect', 'emptyTriangle'];

/** Draws lines with a mark at each point. */
export function lineChart(series: readonly LineSeries[], axes: Axes): Chart {
  const values = (of: 0 | 1): number[] => series.flatMap(({ points }) => points.map((point) => point[of]));
  const scale = (isLog: boolean, of: 0 | 1) => (isLog ? powersOfTwo(values(of)) : { type: 'value' as const, min: 0 });
  return (paper) => {
    const rows = series.length > 1 ? Math.ceil(series.length / (paper.isNarrow ? 2 : 6)) : 0;
    return renderSvg(
      {
        color: colours,
        grid: toGrid(paper, (paper.isNarrow ? 0 : 20) + 22 * rows),
        ...(series.length > 1 && { legend: { top: 0, textStyle: { color: paper.ink }, itemGap: 22 } }),
        xAxis: { ...axisStyle(paper), ...scale(axes.isLogX, 0), name: axes.x, nameGap: 30 },
        yAxis: {
          ...axisStyle(paper),
          ...scale(axes.isLogY ?? false, 1),
          name: axes.y,
          nameGap: paper.isNarrow ? 42 : 58,
        },
        series: series.map(({ name, points, labels }, index) => ({
          type: 'line',
          name,
          symbol: symbols[index % symbols.length],
          symbolSize: 8,
          data: points.map((point, at) => ({
            value: [...point],
            ...(labels && {
              label: { show: true, position: 'top' as const, color: paper.ink, formatter: () => labels[at] ?? '' },
            }),
          })),
        })),
      },
      paper,
    );
  };
}
