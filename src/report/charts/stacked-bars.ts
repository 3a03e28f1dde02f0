import { axisStyle, type Paper, renderSvg } from './svg.ts';

/** A part of each bar. */
export interface BarPart<B> {
  readonly name: string;
  readonly color: string;
  readonly ms: (bar: B) => number;
}

interface Layout {
  /** The name of the axis. */
  readonly name: string;
  /** Pixels between the legend's entries, and between its lines. */
  readonly itemGap: number;
}

/**
 * The pixels of a mark in the legend with the gap after it, and of a letter on average, as the
 * chart library measures it.
 */
const MARK = 30;
const LETTER = 5.6;
const LINE = 14;

/**
 * Returns the height of the legend, which takes as many lines as its entries need at this width.
 */
function legendHeight(names: readonly string[], itemGap: number, width: number): number {
  let [lines, used] = [1, 0];
  for (const name of names) {
    const entry = MARK + LETTER * name.length + itemGap;
    if (used > 0 && used + entry > width + itemGap) [lines, used] = [lines + 1, 0];
    used += entry;
  }
  return lines * (LINE + itemGap);
}

/** Draws a horizontal bar for each, the first on top, from its parts in milliseconds, in order. */
export function stackedBars<B extends { readonly name: string }>(
  bars: readonly B[],
  parts: readonly BarPart<B>[],
  { name: axisName, itemGap }: Layout,
  paper: Paper,
): string {
  const top = legendHeight(
    parts.map(({ name }) => name),
    itemGap,
    paper.width,
  );
  // Names end at the axis. Many machines have a wider font than the one used to estimate their
  // width.
  const left = 12 + 1.5 * Math.max(0, ...bars.map(({ name }) => name.length));
  return renderSvg(
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
