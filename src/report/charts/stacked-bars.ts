import { axisStyle, type Paper, svgOf } from './svg.ts';

/** A part of each bar. */
export interface BarPart<B> {
  readonly name: string;
  readonly color: string;
  readonly ms: (bar: B) => number;
}

interface Layout {
  /** The name of the axis. */
  readonly name: string;
  /** Pixels above the bars, for the legend. */
  readonly top: number;
  /** Pixels between the legend's entries. */
  readonly itemGap: number;
}

/** Draws a horizontal bar for each, the first on top, from its parts in milliseconds, in order. */
export function stackedBars<B extends { readonly name: string }>(
  bars: readonly B[],
  parts: readonly BarPart<B>[],
  { name: axisName, top, itemGap }: Layout,
  paper: Paper,
): string {
  // Names end at the axis. Many machines have a wider font than the one used to estimate their width.
  const left = 12 + 1.5 * Math.max(0, ...bars.map(({ name }) => name.length));
  return svgOf(
    {
      grid: { left, right: 24, top, bottom: 46, outerBoundsMode: 'same', outerBoundsContain: 'axisLabel' },
      legend: { top: 0, textStyle: { color: paper.ink }, itemGap },
      xAxis: { ...axisStyle(paper), type: 'value', name: axisName, nameGap: 28 },
      yAxis: { ...axisStyle(paper), type: 'category', inverse: true, data: bars.map(({ name }) => name) },
      series: parts.map(({ name, color, ms }) => ({
        type: 'bar',
        name,
        stack: 'all',
        barMaxWidth: 26,
        itemStyle: { color },
        data: bars.map((bar) => Number(ms(bar).toPrecision(4))),
      })),
    },
    { ...paper, height: top + 48 + 34 * bars.length },
  );
}
