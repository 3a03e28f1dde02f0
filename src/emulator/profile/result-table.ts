import { csvRows } from '../../base/csv.ts';
import { TrituneError } from '../../base/errors.ts';
import type { CalibrationRow, ServerTimes } from '../../queueing/calibration/row.ts';
import { markdownTables } from './markdown-tables.ts';

/** Rows of a result table for one server and model, measured at several levels. */
export interface SetUp {
  /**
   * Labels that distinguish it from others in its table, by column: `gpu`, `backend`, `dataset`, or
   * the trial and its parameters.
   */
  readonly labels: Readonly<Record<string, string>>;
  /** From the table; null if absent. */
  readonly instances: number | null;
  readonly rows: readonly CalibrationRow[];
}

type Cells = Readonly<Record<string, string>>;
/**
 * Where to find a figure, by the columns of our own tables, of published ones and of perf_analyzer,
 * and the factor to our unit.
 */
type Places = readonly (readonly [column: string, factor: number])[];

const US = 1e-3;
const places = {
  concurrency: [
    ['concurrency', 1],
    ['Concurrency', 1],
    ['load_value', 1],
  ],
  throughput: [
    ['inferences_per_s', 1],
    ['Inferences/Second', 1],
    ['throughput_infer_per_s', 1],
  ],
  batch: [
    ['batch', 1],
    ['Batch', 1],
  ],
  instances: [
    ['instances', 1],
    ['Number of model instances', 1],
  ],
  p50: [
    ['p50_ms', 1],
    ['latency_p50_ms', 1],
    ['p50_us', US],
    ['p50 latency', US],
    ['p50 latency (ms)', 1],
  ],
  mean: [
    ['avg_ms', 1],
    ['latency_avg_ms', 1],
    ['avg_us', US],
    ['Avg latency', US],
    ['avg latency (ms)', 1],
  ],
  queue: [
    ['server_queue_ms', 1],
    ['server_queue_us', US],
    ['queue_us', US],
    ['Server Queue', US],
    ['Server Queue (ms)', 1],
  ],
  input: [
    ['server_compute_input_ms', 1],
    ['server_compute_input_us', US],
    ['compute_input_us', US],
    ['Server Compute Input', US],
    ['Server Compute Input (ms)', 1],
  ],
  infer: [
    ['server_compute_infer_ms', 1],
    ['server_compute_infer_us', US],
    ['compute_infer_us', US],
    ['Server Compute Infer', US],
    ['Server Compute Infer (ms)', 1],
  ],
  output: [
    ['server_compute_output_ms', 1],
    ['server_compute_output_us', US],
    ['compute_output_us', US],
    ['Server Compute Output', US],
    ['Server Compute Output (ms)', 1],
  ],
  send: [
    ['client_send_ms', 1],
    ['Client Send', US],
    ['Client Send (ms)', 1],
    ['client_send_us', US],
  ],
  network: [
    ['network_server_send_recv_ms', 1],
    ['Network+Server Send/Recv', US],
    ['Network+Server Send/Recv (ms)', 1],
  ],
  receive: [
    ['client_recv_ms', 1],
    ['Client Recv', US],
    ['Client Recv (ms)', 1],
    ['client_recv_us', US],
  ],
  meanBatch: [['mean_batch', 1]],
  inferences: [['inference_count', 1]],
  executions: [['execution_count', 1]],
} satisfies Record<string, Places>;

/** Columns that describe the measured set-up, except those of a trial, which precede its level. */
const LABELS = ['gpu', 'backend', 'precision', 'dataset', 'trial', 'role'];
/** The names of the same labels in tables of parameters. */
const PARAMETERS = { GPU: 'gpu', Backend: 'backend', Precision: 'precision', Dataset: 'dataset' } as const;

/**
 * Reads a result table: a published one with offline and online rows or
 * `tritune profile --scenario`, as CSV or as Markdown with its table of parameters before it;
 * `results.csv` of a run; or perf_analyzer's. `clientBatch`: samples per request if the table does
 * not say. Leaves out rows of request rates, of failures, and of a client that was the limit.
 * Throws INPUT_INVALID if nothing is left.
 */
export function readResultTable(text: string, file: string, clientBatch: number): SetUp[] {
  const groups = new Map<
    string,
    { labels: Record<string, string>; instances: number | null; rows: CalibrationRow[] }
  >();
  for (const cells of /^\s*\|/m.test(text) ? markdownRows(text) : csvRows(text)) {
    const row = findRow(cells, clientBatch);
    if (!row) continue;
    const labels = readLabels(cells);
    const key = JSON.stringify(labels);
    const group = groups.get(key) ?? { labels, instances: figure(cells, places.instances), rows: [] };
    groups.set(key, group);
    group.rows.push(row);
  }
  if (groups.size > 0) return [...groups.values()];
  throw new TrituneError(
    'INPUT_INVALID',
    `${file} has no rows with a concurrency`,
    "give a CSV or Markdown table with concurrency, throughput and p50 in tritune's or perf_analyzer's columns",
  );
}

/**
 * Returns the set-ups of several tables, with the rows of those that have the same labels together.
 */
export function joinedSetUps(setUps: readonly SetUp[]): SetUp[] {
  const joined = new Map<string, SetUp>();
  for (const setUp of setUps) {
    const key = JSON.stringify(setUp.labels);
    const rows = [...(joined.get(key)?.rows ?? []), ...setUp.rows];
    joined.set(key, { ...setUp, instances: joined.get(key)?.instances ?? setUp.instances, rows });
  }
  return [...joined.values()];
}

/**
 * Returns the rows of all tables, each with the parameters of the last parameter table before it.
 */
function markdownRows(text: string): Cells[] {
  let parameters: Cells = {};
  return markdownTables(text).flatMap(({ header, rows }) => {
    const [name = '', value = ''] = header;
    if (header.length !== 2) return rows.map((row) => ({ ...parameters, ...row }));
    const all = rows.map((row) => [row[name] ?? '', row[value] ?? ''] as const);
    parameters = Object.fromEntries(all.map(([key, of]) => [PARAMETERS[key as keyof typeof PARAMETERS] ?? key, of]));
    return [];
  });
}

function findRow(cells: Cells, clientBatch: number): CalibrationRow | null {
  const [concurrency, throughput, p50] = [
    figure(cells, places.concurrency),
    figure(cells, places.throughput),
    figure(cells, places.p50),
  ];
  const isOther = (cells.load_mode ?? 'concurrency') !== 'concurrency' || cells.client_bound === 'true';
  if (isOther || !concurrency || !Number.isInteger(concurrency) || !throughput || !p50) return null;
  const server = findServer(cells);
  const [inferences, executions] = [figure(cells, places.inferences), figure(cells, places.executions)];
  return {
    concurrency,
    samplesPerRequest: figure(cells, places.batch) ?? clientBatch,
    inferPerSecond: throughput,
    latencyMs: { p50, mean: figure(cells, places.mean) ?? computeMean(cells, server) ?? p50 },
    server,
    meanBatch: figure(cells, places.meanBatch) ?? (inferences && executions ? inferences / executions : null),
  };
}

function findServer(cells: Cells): ServerTimes | null {
  const [queueMs, inputMs, inferMs, outputMs] = [places.queue, places.input, places.infer, places.output].map((place) =>
    figure(cells, place),
  );
  if (queueMs == null || inputMs == null || inferMs == null || outputMs == null) return null;
  return { queueMs, inputMs, inferMs, outputMs };
}

/** Returns the mean latency of a table that has only its parts. */
function computeMean(cells: Cells, server: ServerTimes | null): number | null {
  const outside = [places.send, places.network, places.receive].map((place) => figure(cells, place));
  if (!server || outside.some((part) => part === null)) return null;
  const parts = [...outside, server.queueMs, server.inputMs, server.inferMs, server.outputMs];
  return parts.reduce<number>((sum, part) => sum + (part ?? 0), 0);
}

function readLabels(cells: Cells): Record<string, string> {
  const names = Object.keys(cells);
  const level = names.indexOf('load_mode');
  const parameters = level < 0 ? [] : names.slice(names.indexOf('chosen') + 1, level);
  const chosen = [...LABELS, ...parameters].filter((name) => (cells[name] ?? '') !== '');
  return Object.fromEntries(chosen.map((name) => [name, cells[name] as string]));
}

function figure(cells: Cells, where: Places): number | null {
  for (const [column, factor] of where) {
    const text = cells[column];
    if (text === undefined || text === '') continue;
    const value = Number(text) * factor;
    if (Number.isFinite(value) && value >= 0) return value;
  }
  return null;
}
