import { csvRows } from '#base/csv.ts';
import { TrituneError } from '#base/errors.ts';
import type { CalibrationRow, ServerTimes } from '#queueing/calibration/row.ts';
import { isConsoleText, readConsoleLevels } from './console-levels.ts';
import { markdownTables } from './markdown-tables.ts';
import { type Cells, findColumns, type TableColumns } from './table-columns.ts';

/** Rows of a result table for one server and model, measured at several levels. */
export interface SetUp {
  /**
   * Labels that distinguish it from others in its table, by column: `gpu`, `backend`, `dataset`, or
   * the trial and its parameters.
   */
  readonly labels: Readonly<Record<string, string>>;
  readonly settings: SetUpSettings;
  readonly rows: readonly CalibrationRow[];
}

/** The config of a set-up, as far as its table says; null for what it does not say. */
export interface SetUpSettings {
  readonly instances: number | null;
  readonly maxBatchSize: number | null;
  readonly preferredBatchSizes: readonly number[] | null;
  readonly queueDelayUs: number | null;
}

/** A table with what the document says of all its rows. */
interface Table {
  readonly common: Cells;
  readonly rows: readonly Cells[];
}

/** Columns that describe the measured set-up, except those of a trial, which precede its level. */
const LABELS = [
  ...['gpu', 'backend', 'backend accelerator', 'precision', 'dataset', 'sequence length', 'run', 'trial', 'role'],
];

/**
 * Reads a result table: published ones with offline and online rows or those of
 * `tritune profile --scenario`, as CSV or as Markdown with the table or the list of parameters
 * before it; `results.csv` of a run; perf_analyzer's, or what it printed on a console. A row
 * without a concurrency is of one client. `clientBatch`: samples per request if the table does not
 * say. Leaves out rows of request rates, of failures, and of a client that was the limit. Throws
 * INPUT_INVALID if nothing is left.
 */
export function readResultTable(text: string, file: string, clientBatch: number): SetUp[] {
  const setUps = findSetUps(readTables(text), clientBatch);
  if (setUps.length > 0) return joinedSetUps(setUps);
  throw new TrituneError(
    'INPUT_INVALID',
    `${file} has no rows with a concurrency or a batch size`,
    "give a CSV or Markdown table with concurrency, throughput and p50 in tritune's or perf_analyzer's columns, or what perf_analyzer printed",
  );
}

function readTables(text: string): readonly Table[] {
  if (isConsoleText(text)) return [{ common: {}, rows: readConsoleLevels(text) }];
  return /^\s*\|/m.test(text) ? tablesInMarkdown(text) : [{ common: {}, rows: csvRows(text) }];
}

const findSetUps = (tables: readonly Table[], clientBatch: number): SetUp[] =>
  tables.flatMap(({ common, rows }) => {
    const columns = findColumns([common, ...rows], clientBatch);
    return rows.flatMap((cells): SetUp[] => {
      const row = findRow(cells, columns, clientBatch);
      if (!row) return [];
      const all = { ...common, ...lowerCased(cells) };
      return [
        { labels: readLabels(cells, all), settings: readSettings({ ...common, ...cells }, columns), rows: [row] },
      ];
    });
  });

/**
 * Returns the set-ups of several tables, with the rows of those that have the same labels together,
 * and the settings of the last of them: those of traffic, where lone requests were measured with
 * others.
 */
export function joinedSetUps(setUps: readonly SetUp[]): SetUp[] {
  return [...Map.groupBy(setUps, ({ labels }) => JSON.stringify(labels)).values()].map((alike) => ({
    labels: (alike[0] as SetUp).labels,
    settings: alike.map(({ settings }) => settings).reduce(laterSettings),
    rows: alike.flatMap(({ rows }) => rows),
  }));
}

const laterSettings = (before: SetUpSettings, later: SetUpSettings): SetUpSettings => ({
  instances: later.instances ?? before.instances,
  maxBatchSize: later.maxBatchSize ?? before.maxBatchSize,
  preferredBatchSizes: later.preferredBatchSizes ?? before.preferredBatchSizes,
  queueDelayUs: later.queueDelayUs ?? before.queueDelayUs,
});

/**
 * Returns the tables of results, each with the parameters of the last parameter table before it and
 * of the list under the last heading, such as `* **GPU:** NVIDIA A40`.
 */
function tablesInMarkdown(text: string): Table[] {
  let parameters: Cells = {};
  return markdownTables(text).flatMap(({ header, rows, listBefore }): Table[] => {
    if (header.length !== 2) return [{ common: { ...parameters, ...lowerCased(listBefore) }, rows }];
    const [name = '', value = ''] = header;
    // Pictures stand side by side in tables of a header alone.
    if (rows.length > 0)
      parameters = Object.fromEntries(rows.map((row) => [(row[name] ?? '').toLowerCase(), row[value] ?? '']));
    return [];
  });
}

const lowerCased = (cells: Cells): Cells =>
  Object.fromEntries(Object.entries(cells).map(([name, value]) => [name.toLowerCase(), value]));

function findRow(cells: Cells, { figure, timeMs }: TableColumns, clientBatch: number): CalibrationRow | null {
  const [batch, throughput] = [figure(cells, 'batch'), figure(cells, 'throughput')];
  // Published tables of lone requests have a batch size alone.
  const concurrency = figure(cells, 'concurrency') ?? (batch === null ? null : 1);
  const server = findServer(cells, timeMs);
  const mean = timeMs(cells, 'mean') ?? computeMean(cells, server, timeMs);
  const p50 = timeMs(cells, 'p50') ?? mean;
  const isOther = (cells.load_mode ?? 'concurrency') !== 'concurrency' || cells.client_bound === 'true';
  if (isOther || !concurrency || !Number.isInteger(concurrency) || !throughput || !p50) return null;
  const [inferences, executions] = [figure(cells, 'inferences'), figure(cells, 'executions')];
  return {
    concurrency,
    samplesPerRequest: batch ?? clientBatch,
    inferPerSecond: throughput,
    latencyMs: { p50, mean: mean ?? p50 },
    server,
    meanBatch: figure(cells, 'meanBatch') ?? (inferences && executions ? inferences / executions : null),
  };
}

function findServer(cells: Cells, timeMs: TableColumns['timeMs']): ServerTimes | null {
  const [queueMs, inputMs, inferMs, outputMs] = (['queue', 'input', 'infer', 'output'] as const).map((name) =>
    timeMs(cells, name),
  );
  // Tables of perf_client, until 2020, have one column for all three.
  const whole = inferMs == null ? timeMs(cells, 'compute') : null;
  if (queueMs != null && whole !== null) return { queueMs, inputMs: 0, inferMs: whole, outputMs: 0 };
  if (queueMs == null || inputMs == null || inferMs == null || outputMs == null) return null;
  return { queueMs, inputMs, inferMs, outputMs };
}

/** Returns the mean latency of a table that has only its parts. */
function computeMean(cells: Cells, server: ServerTimes | null, timeMs: TableColumns['timeMs']): number | null {
  const outside = (['send', 'network', 'receive'] as const).map((name) => timeMs(cells, name));
  if (!server || outside.some((part) => part === null)) return null;
  const parts = [...outside, server.queueMs, server.inputMs, server.inferMs, server.outputMs];
  return parts.reduce<number>((sum, part) => sum + (part ?? 0), 0);
}

function readLabels(cells: Cells, all: Cells): Record<string, string> {
  const names = Object.keys(cells);
  const level = names.indexOf('load_mode');
  const parameters = level < 0 ? [] : names.slice(names.indexOf('chosen') + 1, level);
  const stated = LABELS.filter((name) => (all[name] ?? '') !== '').map((name) => [name, all[name] as string]);
  const varied = parameters.filter((name) => (cells[name] ?? '') !== '').map((name) => [name, cells[name] as string]);
  return Object.fromEntries([...stated, ...varied]);
}

function readSettings(all: Cells, { figure, text }: TableColumns): SetUpSettings {
  const sizes = text(all, 'preferredBatchSizes')
    ?.split(/[\s,]+/)
    .map(Number);
  return {
    instances: figure(all, 'instances'),
    maxBatchSize: figure(all, 'maxBatchSize'),
    preferredBatchSizes: sizes?.every((size) => Number.isInteger(size) && size > 0) ? sizes : null,
    queueDelayUs: figure(all, 'queueDelayUs'),
  };
}
