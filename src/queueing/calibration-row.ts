/** A row of a result table: one closed loop, and what was measured of it. */
export type CalibrationRow = {
  readonly concurrency: number;
  readonly samplesPerRequest: number;
  /** Samples served per second. */
  readonly inferPerSecond: number;
  readonly latencyMs: { readonly p50: number; readonly mean: number };
  /** Mean per request by the server's statistics; null where the table has none. */
  readonly server: ServerTimes | null;
  /** Samples per execution, where the table tells. */
  readonly meanBatch: number | null;
};

export type ServerTimes = {
  readonly queueMs: number;
  readonly inputMs: number;
  readonly inferMs: number;
  readonly outputMs: number;
};

/** A row that tells the time of one execution that ran alone, and of which batch. */
export type AloneRow = { readonly batchSize: number; readonly computeMs: number; readonly outsideMs: number };

export const computeMs = ({ inputMs, inferMs, outputMs }: ServerTimes): number => inputMs + inferMs + outputMs;

/** Mean time of a request outside the server's queue and compute: client, network, front end. */
export const outsideMs = (row: CalibrationRow, server: ServerTimes): number =>
  Math.max(0, row.latencyMs.mean - server.queueMs - computeMs(server));

/** One request at a time: every batch is that request. */
export const isOneAtATime = ({ concurrency }: CalibrationRow): boolean => concurrency === 1;

/**
 * The rows with nothing beside an execution, one for each batch size, sizes rising: those of one request at a time; without
 * any, those whose requests in flight fill one batch at most, if their mean batch is known.
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
    const found = { batchSize, computeMs: computeMs(row.server), outsideMs: outsideMs(row, row.server) };
    if (!bySize.has(batchSize)) bySize.set(batchSize, found);
  }
  return [...bySize.values()].sort((a, b) => a.batchSize - b.batchSize);
}
