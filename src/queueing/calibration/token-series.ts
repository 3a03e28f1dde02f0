/** One row of a published table of a language model: mean times at a concurrency. */
export interface SeriesRow {
  readonly concurrency: number;
  readonly ttftMs: number;
  readonly tpotMs: number;
}

/** Rows that differ in their concurrency only. */
export interface TokenSeries {
  /** The longest prompt and reply, in tokens. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly rows: readonly SeriesRow[];
}
