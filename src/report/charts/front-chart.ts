import { axisStyle, type Chart, gridOf, type Link, powersOfTwo, svgOf } from './svg.ts';

/** One measurement on the plane of latency and throughput. */
export interface FrontPoint {
  readonly latencyMs: number;
  /** infer/s. */
  readonly throughput: number;
  readonly link: Link;
}

export interface FrontSeries {
  readonly name: string;
  readonly color: string;
  readonly size: number;
  readonly symbol: 'circle' | 'emptyCircle' | 'diamond' | 'rect' | 'triangle';
  readonly points: readonly FrontPoint[];
}

/** Throughput over latency: every measurement, the front as a line, and the budget. */
export function frontChart(
  series: readonly FrontSeries[],
  front: readonly FrontPoint[],
  latencyName: string,
  budgetMs: number | null,
): Chart {
  const shown = series.filter(({ points }) => points.length > 0);
  const latencies = shown.flatMap(({ points }) => points.map(({ latencyMs }) => latencyMs));
  return (paper) =>
    svgOf(
      {
        grid: gridOf(paper),
        legend: { top: 0, textStyle: { color: paper.ink }, itemGap: 24, data: shown.map(({ name }) => name) },
        xAxis: { ...axisStyle(paper), ...powersOfTwo([...latencies, budgetMs ?? 0]), name: latencyName, nameGap: 30 },
        yAxis: { ...axisStyle(paper), type: 'value', name: 'throughput, infer/s', nameGap: paper.isNarrow ? 42 : 58 },
        series: [
          ...shown.map(({ name, color, size, symbol, points }) => ({
            type: 'scatter',
            name,
            symbol,
            symbolSize: size,
            itemStyle: { color, opacity: 1 },
            z: size,
            data: points.map(({ latencyMs, throughput }) => [latencyMs, throughput]),
          })),
          {
            type: 'line',
            showSymbol: false,
            silent: true,
            z: 1,
            lineStyle: { color: '#2f7ed8', width: 1.5, opacity: 0.7 },
            data: front.map(({ latencyMs, throughput }) => [latencyMs, throughput]),
            ...(budgetMs !== null && { markLine: budgetLine(budgetMs) }),
          },
        ],
      },
      paper,
      (index, point) => shown[index]?.points[point]?.link ?? null,
    );
}

const budgetLine = (budgetMs: number) => ({
  symbol: 'none',
  silent: true,
  lineStyle: { color: '#d33', type: 'dashed' as const },
  label: { formatter: `budget ${budgetMs} ms`, color: '#d33' },
  data: [{ xAxis: budgetMs }],
});
