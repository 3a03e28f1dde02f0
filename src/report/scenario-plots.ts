import { formatMs, formatRate } from '#base/format.ts';
import { growthEnd } from './charts/growth.ts';
import { lineChart } from './charts/line-chart.ts';
import type { Chart } from './charts/svg.ts';
import { findVaried, percentileMs, type Scenario, type ScenarioRow, variedIn } from './scenario-case.ts';

export interface ScenarioPlot {
  /** The name of its files, without extension. */
  readonly name: string;
  /** What it shows, for readers who cannot see it. */
  readonly about: string;
  /** What to see in it. */
  readonly title: string;
  readonly chart: Chart;
}

/** More labels next to the points of a line would be unreadable. */
const MAX_LABELS = 12;

const isDoubling = (values: readonly number[]): boolean =>
  values.slice(1, -1).every((value, index) => value >= 2 * (values[index] as number));

/** Plots throughput over latency, and latency over the varied quantity. */
export function scenarioPlots(rows: readonly ScenarioRow[], scenario: Scenario): readonly ScenarioPlot[] {
  const varied = variedIn(scenario);
  const latency = [50, 95, 99].map((percentile) => ({
    name: `p${percentile}`,
    points: rows.map((row) => [findVaried(scenario, row), percentileMs(row.report, percentile)] as const),
  }));
  const apart = Math.ceil(rows.length / MAX_LABELS);
  const throughput = {
    name: 'throughput',
    points: rows.map(({ report }) => [percentileMs(report, 99), report.inferPerSecond] as const),
    labels: rows.map((row, index) => (index % apart === 0 ? `${findVaried(scenario, row)}` : '')),
  };
  return [
    {
      name: `throughput_vs_latency_${scenario}`,
      about: `throughput over p99 latency by ${varied}`,
      title: growthTitle(rows, scenario),
      chart: lineChart([throughput], {
        x: `p99 latency, ms (a point for each ${varied})`,
        y: 'throughput, infer/s',
        isLogX: false,
      }),
    },
    {
      name: `latency_vs_${varied}_${scenario}`,
      about: `latency over ${varied}`,
      title: latencyTitle(rows, scenario),
      chart: lineChart(latency, {
        x: varied,
        y: 'latency, ms',
        isLogX: isDoubling(rows.map((row) => findVaried(scenario, row))),
      }),
    },
  ];
}

/** `batch 8`. */
const formatLevel = (scenario: Scenario, row: ScenarioRow): string =>
  `${variedIn(scenario)} ${findVaried(scenario, row)}`;

function growthTitle(rows: readonly ScenarioRow[], scenario: Scenario): string {
  const last = rows.at(-1);
  if (!last) return 'Nothing was measured';
  const rateAt = (row: ScenarioRow): string =>
    `${formatLevel(scenario, row)}: ${formatRate(row.report.inferPerSecond)}`;
  const end = rows[growthEnd(rows.map(({ report }) => report.inferPerSecond))];
  if (end) return `Throughput stops growing at ${rateAt(end)}`;
  return rows.length === 1 ? `Throughput at ${rateAt(last)}` : `Throughput still grows at ${rateAt(last)}`;
}

function latencyTitle(rows: readonly ScenarioRow[], scenario: Scenario): string {
  const [first, last] = [rows[0], rows.at(-1)];
  if (!first || !last) return 'Nothing was measured';
  const at = (row: ScenarioRow): string => `${formatMs(percentileMs(row.report, 99))} at ${formatLevel(scenario, row)}`;
  return first === last ? `p99 is ${at(first)}` : `p99 goes from ${at(first)} to ${at(last)}`;
}
