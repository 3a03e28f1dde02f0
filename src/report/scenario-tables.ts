import { networkUs, shownClientParts } from '#profiler/level-report.ts';
import { csvText } from './csv.ts';
import { percentileMs, type ScenarioCase, type ScenarioParameter, type ScenarioRow } from './scenario-case.ts';

interface Column {
  /** The name in published CSV files and tables. */
  readonly name: string;
  readonly title: string;
  readonly read: (row: ScenarioRow) => number;
}

const ms = (name: string, title: string, readUs: (row: ScenarioRow) => number): Column => ({
  name: `${name}_ms`,
  title: `${title} (ms)`,
  read: (row) => readUs(row) / 1e3,
});

const formatFigure = ({ name, read }: Column, row: ScenarioRow): string =>
  read(row).toFixed(name.endsWith('_ms') ? 3 : name === 'inferences_per_s' ? 1 : 0);

/** The columns of published result tables of this kind. */
const columns: readonly Column[] = [
  { name: 'batch', title: 'Batch', read: ({ batch }) => batch },
  { name: 'concurrency', title: 'Concurrency', read: ({ report }) => report.level.value },
  { name: 'inferences_per_s', title: 'Inferences/Second', read: ({ report }) => report.inferPerSecond },
  ms('client_send', 'Client Send', ({ report }) => shownClientParts(report).sendUs),
  ms('network_server_send_recv', 'Network+Server Send/Recv', ({ report }) => networkUs(report)),
  ms('server_queue', 'Server Queue', ({ report }) => report.server?.queueUs ?? 0),
  ms('server_compute_input', 'Server Compute Input', ({ report }) => report.server?.computeInputUs ?? 0),
  ms('server_compute_infer', 'Server Compute Infer', ({ report }) => report.server?.computeInferUs ?? 0),
  ms('server_compute_output', 'Server Compute Output', ({ report }) => report.server?.computeOutputUs ?? 0),
  ms('client_recv', 'Client Recv', ({ report }) => shownClientParts(report).receiveUs),
  ...[50, 90, 95, 99].map((percentile) => ({
    name: `p${percentile}_ms`,
    title: `p${percentile} latency (ms)`,
    read: ({ report }: ScenarioRow) => percentileMs(report, percentile),
  })),
  ms('avg', 'avg latency', ({ report }) => report.averageUs),
];

/** Returns the rows as CSV, each with the fields that distinguish its case from others. */
export function formatCsv(rows: readonly ScenarioRow[], common: ScenarioCase): string {
  const { gpu, backend, dataset, scenario, instances } = common;
  const fixed = [gpu, backend, dataset, scenario, instances];
  const header = ['gpu', 'backend', 'dataset', 'scenario', 'instances', ...columns.map(({ name }) => name)];
  const figures = rows.map((row) => columns.map((column) => Number(formatFigure(column, row))));
  return csvText([header, ...figures.map((cells) => [...fixed, ...cells])], '\n');
}

/** Returns the rows as the lines of a Markdown table. */
export function resultLines(rows: readonly ScenarioRow[]): readonly string[] {
  const cells = rows.map((row) => columns.map((column) => formatFigure(column, row)));
  return markdownTable(
    columns.map(({ title }) => title),
    cells,
    'right',
  );
}

/** Returns the parameters of the rows in the same form. */
export const parameterLines = (common: ScenarioCase): readonly string[] =>
  markdownTable(['Parameter Name', 'Parameter Value'], common.parameters.map(escaped), 'left');

const escaped = ([name, value]: ScenarioParameter): readonly string[] =>
  [name, value].map((text) => text.replaceAll('|', '\\|'));

function markdownTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  side: 'left' | 'right',
): readonly string[] {
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const padded = (text: string, column: number): string =>
    side === 'left' ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0);
  const line = (cells: readonly string[]): string => `| ${cells.map(padded).join(' | ')} |`;
  const rule = widths.map((width) => (side === 'left' ? `:${'-'.repeat(width + 1)}` : `${'-'.repeat(width + 1)}:`));
  return [line(header), `|${rule.join('|')}|`, ...rows.map(line)];
}
