import { type LevelReport, networkUs } from '../profiler/level-report.ts';
import { lineChart } from './charts/line-chart.ts';
import { filePaper } from './charts/svg.ts';
import { csvText } from './csv.ts';

/** A level of a scenario, and the batch that it was measured with. */
export interface ScenarioRow {
  readonly batch: number;
  readonly report: LevelReport;
}

/** What all rows have in common. */
export interface ScenarioCase {
  readonly scenario: 'offline' | 'online';
  readonly device: string;
  readonly backend: string;
  readonly dataset: string;
  readonly instances: number;
}

export interface ScenarioFile {
  readonly name: string;
  readonly text: string;
}

const US_PER_MS = 1e3;

/** The columns of published result tables of this kind; times in milliseconds. */
const columns: readonly (readonly [string, (row: ScenarioRow) => number])[] = [
  ['batch', ({ batch }) => batch],
  ['concurrency', ({ report }) => report.level.value],
  ['inferences_per_s', ({ report }) => report.inferPerSecond],
  ['client_send_ms', () => 0],
  ['network_server_send_recv_ms', ({ report }) => networkUs(report) / US_PER_MS],
  ['server_queue_ms', ({ report }) => (report.server?.queueUs ?? 0) / US_PER_MS],
  ['server_compute_input_ms', ({ report }) => (report.server?.computeInputUs ?? 0) / US_PER_MS],
  ['server_compute_infer_ms', ({ report }) => (report.server?.computeInferUs ?? 0) / US_PER_MS],
  ['server_compute_output_ms', ({ report }) => (report.server?.computeOutputUs ?? 0) / US_PER_MS],
  ['client_recv_ms', () => 0],
  ...[50, 90, 95, 99].map(
    (percentile) => [`p${percentile}_ms`, ({ report }: ScenarioRow) => percentileMs(report, percentile)] as const,
  ),
  ['avg_ms', ({ report }) => report.averageUs / US_PER_MS],
];

const percentileMs = ({ percentilesUs }: LevelReport, wanted: number): number =>
  (percentilesUs.find(({ percentile }) => percentile === wanted)?.us ?? 0) / US_PER_MS;

const figure = (value: number): string => `${Number(value.toFixed(3))}`;

/** The table of a scenario as CSV and as Markdown, and its plots as SVG. */
export function scenarioFiles(rows: readonly ScenarioRow[], common: ScenarioCase): readonly ScenarioFile[] {
  const { scenario } = common;
  return [
    { name: `results_${scenario}.csv`, text: csvOf(rows, common) },
    { name: `results_${scenario}.md`, text: `${markdownTable(rows).join('\n')}\n` },
    ...plotsOf(rows, scenario),
  ];
}

function csvOf(rows: readonly ScenarioRow[], common: ScenarioCase): string {
  const { device, backend, dataset, scenario, instances } = common;
  const fixed = [device, backend, dataset, scenario, instances];
  const header = ['gpu', 'backend', 'dataset', 'scenario', 'instances', ...columns.map(([name]) => name)];
  return csvText([header, ...rows.map((row) => [...fixed, ...columns.map(([, of]) => figure(of(row)))])], '\n');
}

/** The same for people, a line each. */
export function markdownTable(rows: readonly ScenarioRow[]): readonly string[] {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    line(columns.map(([name]) => name)),
    line(columns.map(() => '---:')),
    ...rows.map((row) => line(columns.map(([, of]) => figure(of(row))))),
  ];
}

function plotsOf(rows: readonly ScenarioRow[], scenario: ScenarioCase['scenario']): readonly ScenarioFile[] {
  const x = scenario === 'offline' ? 'batch' : 'concurrency';
  const xOf = (row: ScenarioRow): number => (scenario === 'offline' ? row.batch : row.report.level.value);
  const latency = [50, 95, 99].map((percentile) => ({
    name: `p${percentile}`,
    points: rows.map((row) => [xOf(row), percentileMs(row.report, percentile)] as const),
  }));
  const throughput = rows.map(({ report }) => [percentileMs(report, 99), report.inferPerSecond] as const);
  return [
    {
      name: `throughput_vs_latency_${scenario}.svg`,
      text: lineChart([{ name: 'throughput', points: throughput, labels: rows.map((row) => `${xOf(row)}`) }], {
        x: `p99 latency, ms (a point for each ${x})`,
        y: 'throughput, infer/s',
        isLogX: false,
      })(filePaper),
    },
    {
      name: `latency_vs_${x}_${scenario}.svg`,
      text: lineChart(latency, { x, y: 'latency, ms', isLogX: true })(filePaper),
    },
  ];
}
