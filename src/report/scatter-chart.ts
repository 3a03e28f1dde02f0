import { ScatterChart } from 'echarts/charts';
import { GridComponent, LegendComponent, MarkLineComponent } from 'echarts/components';
import { init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { Html } from './html.ts';

use([ScatterChart, GridComponent, LegendComponent, MarkLineComponent, SVGRenderer]);

export interface ScatterSeries {
  readonly name: string;
  readonly color: string;
  /** [latency in ms, throughput in infer/s] */
  readonly points: readonly (readonly [number, number])[];
}

/** Throughput over latency as an SVG, with the budget as a line. Colours suit a light and a dark page. */
export function scatterChart(series: readonly ScatterSeries[], latencyName: string, budgetMs: number | null): Html {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: 860, height: 420 });
  const axis = {
    nameLocation: 'middle' as const,
    axisLabel: { color: '#888' },
    splitLine: { lineStyle: { color: '#8884' } },
  };
  chart.setOption({
    animation: false,
    grid: { left: 80, right: 30, top: 40, bottom: 55 },
    legend: { top: 0, textStyle: { color: '#888' } },
    xAxis: { ...axis, type: 'log', name: latencyName, nameGap: 32, nameTextStyle: { color: '#888' } },
    yAxis: { ...axis, type: 'value', name: 'throughput, infer/s', nameGap: 58, nameTextStyle: { color: '#888' } },
    series: series.map(({ name, color, points }, index) => ({
      type: 'scatter',
      name,
      itemStyle: { color },
      symbolSize: 7 + 2 * index,
      data: points.map((point) => [...point]),
      ...(index === 0 && budgetMs !== null && { markLine: budgetLine(budgetMs) }),
    })),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return new Html(svg);
}

const budgetLine = (budgetMs: number) => ({
  symbol: 'none',
  silent: true,
  lineStyle: { color: '#d33', type: 'dashed' as const },
  label: { formatter: `budget ${budgetMs} ms`, color: '#d33' },
  data: [{ xAxis: budgetMs }],
});
