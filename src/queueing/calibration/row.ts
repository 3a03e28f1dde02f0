import { median } from 'simple-statistics';

/** A row of a result table: the measurement of one closed loop. */
export type CalibrationRow = {
  readonly concurrency: number;
  readonly samplesPerRequest: number;
  /** Samples served per second. */
  readonly inferPerSecond: number;
  readonly latencyMs: { readonly p50: number; readonly mean: number };
  /** Means per request by the server's statistics; null if the table has none. */
  readonly server: ServerTimes | null;
  /** Mean samples per execution, if the table has it. */
  readonly meanBatch: number | null;
};

export type ServerTimes = {
  readonly queueMs: number;
  readonly inputMs: number;
  readonly inferMs: number;
  readonly outputMs: number;
};

/** A row that gives the time of a lone execution of one batch size. */
export type AloneRow = { readonly batchSize: number; readonly computeMs: number; readonly outsideMs: number };

/** Returns the sum of input, inference and output, in milliseconds. */
export const computeMs = ({ inputMs, inferMs, outputMs }: ServerTimes): number => inputMs + inferMs + outputMs;

/** Returns the mean time of a request outside queue and compute: client, network, front end. */
export const outsideMs = (row: CalibrationRow, server: ServerTimes): number =>
  Math.max(0, row.latencyMs.mean - server.queueMs - computeMs(server));

/**
 * The time of a lone request outside queue and compute where its table does not say it, and the
 * most of a short latency that it may be. At their smallest batch, 80 published set-ups that do say
 * it have 0.25 ms and a share of 0.14 in the median.
 */
const USUAL_OUTSIDE_MS = 0.24;
const MAX_OUTSIDE_SHARE = 0.2;

/** True if the row is of lone requests, whose batches are the requests. */
export const isOneAtATime = ({ concurrency }: CalibrationRow): boolean => concurrency === 1;

/**
 * Returns the rows of lone executions, one per batch size, rising: those of lone requests, or else
 * those whose requests in flight fill at most one batch, if their mean batch is known.
 */
export function aloneRows(rows: readonly CalibrationRow[], maxBatchSize: number): AloneRow[] {
  const single = rows.filter(isOneAtATime);
  if (single.length > 0)
    return untimedRows(
      single,
      timedRows(single, ({ samplesPerRequest }) => samplesPerRequest),
    );
  const fitting = rows.filter(
    (row) => row.concurrency * row.samplesPerRequest <= maxBatchSize && row.meanBatch !== null,
  );
  return timedRows(fitting, ({ meanBatch }) => Math.max(1, Math.round(meanBatch ?? 1)));
}

/** Returns the rows with server times; of several of one size the first. */
function timedRows(rows: readonly CalibrationRow[], sizeOf: (row: CalibrationRow) => number): AloneRow[] {
  return rising(
    rows.flatMap((row) =>
      row.server && computeMs(row.server) > 0
        ? [{ batchSize: sizeOf(row), computeMs: computeMs(row.server), outsideMs: outsideMs(row, row.server) }]
        : [],
    ),
  );
}

/**
 * Adds the batch sizes of lone requests whose table has latencies only. Their service time is the
 * latency without the client's part. That part grows with the message, while a sample costs a GPU
 * no more in a larger batch than in a smaller one: where a further sample costs more, the client's
 * part does.
 */
function untimedRows(rows: readonly CalibrationRow[], timed: readonly AloneRow[]): AloneRow[] {
  const usualOutside = timed.length > 0 ? median(timed.map((row) => row.outsideMs)) : USUAL_OUTSIDE_MS;
  const isTimed = new Set(timed);
  const all: AloneRow[] = [];
  let perSampleMs = Number.POSITIVE_INFINITY;
  const untimed = rows.map((row) => {
    const outside = Math.min(usualOutside, MAX_OUTSIDE_SHARE * row.latencyMs.mean);
    return { batchSize: row.samplesPerRequest, computeMs: row.latencyMs.mean - outside, outsideMs: outside };
  });
  for (const row of rising([...timed, ...untimed])) {
    const before = all.at(-1);
    if (!before || isTimed.has(row)) {
      all.push(row);
      continue;
    }
    const more = row.batchSize - before.batchSize;
    perSampleMs = Math.min(perSampleMs, Math.max(0, row.computeMs - before.computeMs) / more);
    all.push({ ...row, computeMs: before.computeMs + perSampleMs * more });
  }
  return all;
}

function rising(rows: readonly AloneRow[]): AloneRow[] {
  const bySize = new Map<number, AloneRow>();
  for (const row of rows) if (!bySize.has(row.batchSize)) bySize.set(row.batchSize, row);
  return [...bySize.values()].sort((a, b) => a.batchSize - b.batchSize);
}
