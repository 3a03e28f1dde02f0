import { lineChart } from '../charts/line-chart.ts';
import type { Chart } from '../charts/svg.ts';
import { percentileMs, type Scenario, type ScenarioRow, variedIn, variedOf } from './case.ts';

export interface ScenarioPlot {
  /** The name of its files, without extension. */
  readonly name: string;
  readonly about: string;
  readonly chart: Chart;
}

/** More labels next to the points of a line would be unreadable. */
const MOST_LABELS = 12;

const isDoubling = (values: readonly number[]): boolean =>
  values.slice(1, -1).every((value, index) => value >= 2 * (values[index] as number));

/** Plots throughput over latency, and latency over the varied quantity. */
export function scenarioPlots(rows: readonly ScenarioRow[], scenario: Scenario): readonly ScenarioPlot[] {
  const varied = variedIn(scenario);
  const latency = [50, 95, 99].map((percentile) => ({
    name: `p${percentile}`,
    points: rows.map((row) => [variedOf(scenario, row), percentileMs(row.report, percentile)] as const),
  }));
  const apart = Math.ceil(rows.length / MOST_LABELS);
  const throughput = {
    name: 'throughput',
    points: rows.map(({ report }) => [percentileMs(report, 99), report.inferPerSecond] as const),
    labels: rows.map((row, index) => (index % apart === 0 ? `${variedOf(scenario, row)}` : '')),
  };
  return [
    {
      name: `throughput_vs_latency_${scenario}`,
      about: `throughput over p99 latency by ${varied}`,
      chart: lineChart([throughput], {
        x: `p99 latency, ms (a point for each ${varied})`,
        y: 'throughput, infer/s',
        isLogX: false,
      }),
    },
    {
      name: `latency_vs_${varied}_${scenario}`,
      about: `latency over ${varied}`,
      chart: lineChart(latency, {
        x: varied,
        y: 'latency, ms',
        isLogX: isDoubling(rows.map((row) => variedOf(scenario, row))),
      }),
    },
  ];
}
