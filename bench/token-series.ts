/**
 * How well a language model's engine is predicted from three rows of a published series: the
 * lowest, the middle and the highest concurrency are fitted, the others predicted, beside a
 * straight line through the logarithms of the fitted rows. `node bench/token-series.ts TABLE
 * [--part I/N]`: every series of four concurrencies or more; of every N of them the I-th (0 is the
 * first), or with `-I/N` all but it.
 */
import { readFileSync } from 'node:fs';
import { median } from 'simple-statistics';
import { predictSeries } from '#app/series-law.ts';
import { readTokenTable } from '#emulator/profile/token-table.ts';
import { outerAndMiddle } from '#queueing/calibration/held-out.ts';
import type { SeriesRow } from '#queueing/calibration/token-series.ts';

const [file, , part = '0/1'] = process.argv.slice(2);
if (file === undefined) throw new Error('give a table');
const [, not, at = '0', of = '1'] = /^(-?)(\d+)\/(\d+)$/.exec(part) ?? [];
const all = (readTokenTable(readFileSync(file, 'utf8')) ?? []).filter(({ rows }) => rows.length >= 4);
const chosen = all.filter((_, index) => (index % Number(of) === Number(at)) !== (not === '-'));

const results = chosen.map((series) => {
  const levels = outerAndMiddle(series.rows.map(({ concurrency }) => concurrency));
  const { fitted, rows, medianMiss } = predictSeries(series, levels);
  if (!medianMiss) throw new Error('no row is left to predict');
  const known = rows.filter(({ isUsed }) => isUsed).map(({ row }) => row);
  const unknown = rows.filter(({ isUsed }) => !isUsed).map(({ row }) => row);
  const line = (figure: 'ttftMs' | 'tpotMs'): number =>
    median(unknown.map((row) => Math.abs(interpolate(known, row.concurrency, figure) / row[figure] - 1)));
  return {
    backend: series.labels.backend ?? '',
    isSaturated: fitted.policy.kvCacheTokens !== null,
    law: medianMiss,
    line: { ttft: line('ttftMs'), tpot: line('tpotMs') },
  };
});

/** Returns a figure on the straight line between the nearest rows, over logarithms. */
function interpolate(rows: readonly SeriesRow[], concurrency: number, figure: 'ttftMs' | 'tpotMs'): number {
  const below = rows.filter((row) => row.concurrency < concurrency).at(-1) as SeriesRow;
  const above = rows.find((row) => row.concurrency > concurrency) as SeriesRow;
  const share = Math.log(concurrency / below.concurrency) / Math.log(above.concurrency / below.concurrency);
  return below[figure] ** (1 - share) * above[figure] ** share;
}

const percent = (values: readonly number[]): string => `${(100 * median([...values])).toFixed(1)} %`.padStart(8);
const print = (name: string, some: typeof results): void => {
  if (some.length === 0) return;
  const figures = (['law', 'line'] as const).flatMap((by) =>
    (['tpot', 'ttft'] as const).map((figure) => percent(some.map((each) => each[by][figure]))),
  );
  console.log(`${name.padEnd(34)}${String(some.length).padStart(5)}   ${figures.join('  ')}`);
};
console.log('medians over series of the median error of rows that were not fitted');
console.log('                                  series       TPOT      TTFT   line: TPOT   TTFT');
print('all', results);
for (const backend of new Set(results.map((each) => each.backend))) {
  print(
    backend,
    results.filter((each) => each.backend === backend),
  );
}
print(
  'with room in the KV cache',
  results.filter(({ isSaturated }) => !isSaturated),
);
print(
  'without',
  results.filter(({ isSaturated }) => isSaturated),
);
