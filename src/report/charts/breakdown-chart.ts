import { axisStyle, type Chart, svgOf } from './svg.ts';

/** Where the mean time of a request went: milliseconds that add up to the whole. */
export interface BreakdownBar {
  readonly name: string;
  readonly queueMs: number;
  readonly inputMs: number;
  readonly inferMs: number;
  readonly outputMs: number;
  readonly outsideMs: number;
}

const parts = [
  { name: 'queue', of: 'queueMs', color: '#e08a1e' },
  { name: 'compute input', of: 'inputMs', color: '#8fc1f0' },
  { name: 'compute infer', of: 'inferMs', color: '#2f7ed8' },
  { name: 'compute output', of: 'outputMs', color: '#1b4f91' },
  { name: 'outside the server', of: 'outsideMs', color: '#999fa8' },
] as const;

/** A stacked bar for each, the first on top. */
export function breakdownChart(bars: readonly BreakdownBar[]): Chart {
  return (paper) => {
    const top = paper.isNarrow ? 66 : 40;
    // Names end at the axis; many a machine's font is wider than the one that their room is reckoned by.
    const left = 12 + 1.5 * Math.max(0, ...bars.map(({ name }) => name.length));
    return svgOf(
      {
        grid: { left, right: 24, top, bottom: 46, outerBoundsMode: 'same', outerBoundsContain: 'axisLabel' },
        legend: { top: 0, textStyle: { color: paper.ink }, itemGap: 24 },
        xAxis: { ...axisStyle(paper), type: 'value', name: 'mean latency, ms', nameGap: 28 },
        yAxis: { ...axisStyle(paper), type: 'category', inverse: true, data: bars.map(({ name }) => name) },
        series: parts.map(({ name, of, color }) => ({
          type: 'bar',
          name,
          stack: 'all',
          barMaxWidth: 26,
          itemStyle: { color },
          data: bars.map((bar) => Number(bar[of].toPrecision(4))),
        })),
      },
      { ...paper, height: top + 48 + 34 * bars.length },
    );
  };
}
