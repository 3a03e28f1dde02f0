import { median } from 'simple-statistics';

/** A row of a table by the names in its header. */
export type Cells = Readonly<Record<string, string>>;

const US_IN_MS = 1e-3;

/** The columns of a figure, by the names of our tables, of published ones and of perf_analyzer. */
const columns = {
  concurrency: ['concurrency', 'concurrent client requests', 'load value', 'max concurrency'],
  throughput: ['inferences per s', 'inferences/second', 'throughput infer per s'],
  batch: ['batch', 'client batch size', 'batch size'],
  instances: ['instances', 'number of model instances'],
  maxBatchSize: ['max batch', 'max batch size'],
  queueDelayUs: ['delay us', 'triton max queue delay'],
  preferredBatchSizes: ['preferred', 'triton preferred batch sizes'],
  meanBatch: ['mean batch'],
  inferences: ['inference count'],
  executions: ['execution count'],
  inputTokens: ['isl', 'input tokens', 'input length', 'input sequence length', 'random input len'],
  outputTokens: ['osl', 'output tokens', 'output length', 'output sequence length', 'random output len'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** The same for times; the unit follows the name, or is that of the whole table. */
const timeColumns = {
  p50: ['p50', 'latency p50', 'p50 latency'],
  mean: ['avg', 'latency avg', 'avg latency'],
  queue: ['server queue', 'queue'],
  input: ['server compute input', 'compute input'],
  infer: ['server compute infer', 'compute infer'],
  compute: ['server compute', 'compute'],
  output: ['server compute output', 'compute output'],
  send: ['client send'],
  network: ['network server send recv', 'network+server send/recv'],
  receive: ['client recv'],
  ttft: ['ttft', 'silicon ttft', 'mean ttft', 'avg ttft', 'ttft avg', 'time to first token'],
  tpot: ['tpot', 'silicon tpot', 'mean tpot', 'avg tpot', 'tpot avg', 'time per output token'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

type FigureName = keyof typeof columns;
type TimeName = keyof typeof timeColumns;

/** Finds the figures of a table's rows. */
export interface TableColumns {
  /** Returns the text of a row; null where it is empty. */
  text(cells: Cells, name: FigureName): string | null;
  /** Returns the figure of a row; null without a number of 0 or more. */
  figure(cells: Cells, name: FigureName): number | null;
  /** The same in milliseconds. */
  timeMs(cells: Cells, name: TimeName): number | null;
}

/** Milliseconds give a ratio of 1 by Little's law, microseconds one of 1,000; this is between. */
const MAX_RATIO_OF_MS = 30;
/** A longer name is none of a figure's. */
const MAX_NAME_LENGTH = 60;
const UNIT = /\s*[([]?\b(ms|us|µs)[)\]]?$/;

/** Returns the name of a column as tables spell it alike: `p50_ms` and `P50 Latency (ms)`. */
const plainName = (column: string): string => column.toLowerCase().replaceAll('_', ' ').trim();

/**
 * Finds the columns of a table by its header's names. Times without a unit are microseconds in
 * perf_analyzer's files, and milliseconds in published tables under the same names: by Little's law
 * (concurrency = requests per second × latency) a table shows which. `clientBatch`: samples per
 * request if the table does not say.
 */
export function findColumns(rows: readonly Cells[], clientBatch: number): TableColumns {
  const byName = new Map<string, { readonly column: string; readonly unit: string | null }>();
  for (const column of new Set(rows.flatMap((cells) => Object.keys(cells)))) {
    if (column.length > MAX_NAME_LENGTH) continue;
    const name = plainName(column);
    const unit = UNIT.exec(name)?.[1] ?? null;
    // A number with a unit in its own name, such as `delay_us`, is found by all of it.
    for (const key of [name, name.replace(UNIT, '')]) if (!byName.has(key)) byName.set(key, { column, unit });
  }
  const listTexts = (cells: Cells, names: readonly string[]) =>
    names.flatMap((name) => {
      const place = byName.get(name);
      const text = place && cells[place.column];
      return text === undefined || text === '' ? [] : [{ text, unit: place?.unit ?? null }];
    });
  const read = (cells: Cells, names: readonly string[], factorOf: (unit: string | null) => number): number | null =>
    listTexts(cells, names)
      .map(({ text, unit }) => Number(text) * factorOf(unit))
      .find((value) => Number.isFinite(value) && value >= 0) ?? null;
  const figure = (cells: Cells, name: FigureName): number | null => read(cells, columns[name], () => 1);
  const inMs = (cells: Cells, name: TimeName, unstated: number): number | null =>
    read(cells, timeColumns[name], (unit) => (unit === null ? unstated : unit === 'ms' ? 1 : US_IN_MS));
  const inFlight = rows.flatMap((cells) => {
    const [concurrency, throughput] = [figure(cells, 'concurrency') ?? 1, figure(cells, 'throughput')];
    const latency = inMs(cells, 'p50', 1) ?? inMs(cells, 'mean', 1);
    const perRequest = figure(cells, 'batch') ?? clientBatch;
    return throughput && latency && concurrency > 0 ? [(throughput * latency) / (1e3 * perRequest * concurrency)] : [];
  });
  const unstated = inFlight.length > 0 && median(inFlight) > MAX_RATIO_OF_MS ? US_IN_MS : 1;
  return {
    text: (cells, name) => listTexts(cells, columns[name])[0]?.text ?? null,
    figure,
    timeMs: (cells, name) => inMs(cells, name, unstated),
  };
}
