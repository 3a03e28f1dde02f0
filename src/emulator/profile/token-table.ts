import { mean } from 'simple-statistics';
import { csvRows } from '#base/csv.ts';
import type { TokenSeries } from '#queueing/calibration/token-series.ts';
import { type Cells, findColumns } from './table-columns.ts';

/** The series of one set-up of a language model. */
export interface LabelledSeries extends TokenSeries {
  /** Every other column by which the series of a table differ, such as `backend`. */
  readonly labels: Readonly<Record<string, string>>;
}

/** Columns that differ from row to row, or depend on the concurrency. */
const NOT_OF_A_SERIES =
  /^(id|measured|date|(max_)?concurrency)$|ttft|tpot|itl|latency|throughput|duration|prompts|completed|requests|total|goodput/i;

/** Simulations of more would take hours; no published table has them. */
const MAX_CONCURRENCY = 4096;
const MAX_TOKENS = 2 ** 20;

/**
 * Returns the series of a table of language models: CSV rows with a concurrency, the lengths of
 * prompts and replies in tokens, TTFT and TPOT. A series is all rows that differ in their
 * concurrency only; of rows with the same one the mean counts. Rows without one of these figures
 * are left out. null if the table has no such rows.
 */
export function readTokenTable(text: string): LabelledSeries[] | null {
  const rows = csvRows(text);
  const { figure, timeMs } = findColumns(rows, 1);
  const read = rows.flatMap((cells) => {
    const [concurrency, ttftMs, tpotMs] = [figure(cells, 'concurrency'), timeMs(cells, 'ttft'), timeMs(cells, 'tpot')];
    const [inputTokens, outputTokens] = [figure(cells, 'inputTokens'), figure(cells, 'outputTokens')];
    if (!isWhole(concurrency, MAX_CONCURRENCY) || !ttftMs || !tpotMs) return [];
    if (!isWhole(inputTokens, MAX_TOKENS) || !isWhole(outputTokens, MAX_TOKENS)) return [];
    return [{ labels: listLabels(cells), inputTokens, outputTokens, row: { concurrency, ttftMs, tpotMs } }];
  });
  if (read.length === 0) return null;
  const alike = Map.groupBy(read, ({ row: _, ...others }) => JSON.stringify(others));
  return [...alike.values()].map((group) => {
    const { row: _, ...series } = group[0] as (typeof group)[number];
    const byLevel = Map.groupBy(
      group.map(({ row }) => row),
      ({ concurrency }) => concurrency,
    );
    const averaged = [...byLevel].map(([concurrency, same]) => ({
      concurrency,
      ttftMs: mean(same.map(({ ttftMs }) => ttftMs)),
      tpotMs: mean(same.map(({ tpotMs }) => tpotMs)),
    }));
    return { ...series, rows: averaged.sort((a, b) => a.concurrency - b.concurrency) };
  });
}

const isWhole = (value: number | null, max: number): value is number =>
  value !== null && Number.isInteger(value) && value > 0 && value <= max;

const listLabels = (cells: Cells): Record<string, string> =>
  Object.fromEntries(Object.entries(cells).filter(([name, value]) => value !== '' && !NOT_OF_A_SERIES.test(name)));
