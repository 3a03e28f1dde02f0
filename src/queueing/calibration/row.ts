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

/** True if the row is of lone requests, whose batches are the requests. */
export const isOneAtATime = ({ concurrency }: CalibrationRow): boolean => concurrency === 1;

/**
 * Returns the rows of lone executions, one per batch size, rising: those of lone requests, or else
 * those whose requests in flight fill at most one batch, if their mean batch is known.
 */
export function aloneRows(rows: readonly CalibrationRow[], maxBatchSize: number): AloneRow[] {
  const single = rows.filter(isOneAtATime);
  const fitting = rows.filter(
    (row) => row.concurrency * row.samplesPerRequest <= maxBatchSize && row.meanBatch !== null,
  );
  const bySize = new Map<number, AloneRow>();
  for (const row of single.length > 0 ? single : fitting) {
    if (!row.server || !(computeMs(row.server) > 0)) continue;
    const batchSize = single.length > 0 ? row.samplesPerRequest : Math.max(1, Math.round(row.meanBatch ?? 1));
    const times = { batchSize, computeMs: computeMs(row.server), outsideMs: outsideMs(row, row.server) };
    if (!bySize.has(batchSize)) bySize.set(batchSize, times);
  }
  return [...bySize.values()].sort((a, b) => a.batchSize - b.batchSize);
}
