import { LineChart } from 'echarts/charts';
import { GridComponent, LegendComponent } from 'echarts/components';
import { init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';

use([LineChart, GridComponent, LegendComponent, SVGRenderer]);

export interface LineSeries {
  readonly name: string;
  readonly points: readonly (readonly [number, number])[];
  /** What stands beside each point. */
  readonly labels?: readonly string[];
}

export interface Axes {
  readonly x: string;
  readonly y: string;
  /** The x axis in powers, for what doubles from point to point. */
  readonly isLogX: boolean;
}

/** Lines with a mark at each point, as the text of an SVG file. Colours suit light and dark paper. */
export function lineChart(series: readonly LineSeries[], axes: Axes): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: 860, height: 420 });
  const axis = {
    nameLocation: 'middle' as const,
    nameTextStyle: { color: '#888' },
    axisLabel: { color: '#888' },
    splitLine: { lineStyle: { color: '#8884' } },
  };
  chart.setOption({
    animation: false,
    grid: { left: 80, right: 30, top: 40, bottom: 55 },
    ...(series.length > 1 && { legend: { top: 0, textStyle: { color: '#888' } } }),
    xAxis: {
      ...axis,
      ...(axes.isLogX ? { type: 'log' as const, logBase: 2 } : { type: 'value' as const, min: 0 }),
      name: axes.x,
      nameGap: 32,
    },
    yAxis: { ...axis, type: 'value', min: 0, name: axes.y, nameGap: 58 },
    series: series.map(({ name, points, labels }) => ({
      type: 'line',
      name,
      symbolSize: 7,
      data: points.map((point, index) => ({
        value: [...point],
        ...(labels && { label: { show: true, position: 'bottom' as const, color: '#888', formatter: labels[index] } }),
      })),
    })),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}
