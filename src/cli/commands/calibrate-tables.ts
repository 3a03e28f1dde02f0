import { nsToMs } from '#base/units.ts';
import type { SetUp } from '#emulator/profile/result-table.ts';
import type { HeldOut } from '#queueing/calibration/held-out.ts';
import type { Estimates } from '#queueing/calibration/search.ts';

export const figure = (value: number): string => `${Number(value.toPrecision(3))}`;
export const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** `a30, tensorrt, electricity`. */
export const describeSetUp = ({ labels }: Pick<SetUp, 'labels'>): string =>
  Object.values(labels).join(', ') || 'the table';

/** Returns the fitted figures, then measured and predicted ones row by row, then the errors. */
export function formatTable(setUp: SetUp, { calibration, rows, medianMiss }: HeldOut): string[] {
  const { estimates, quality, sizesAlone, rowsOfTraffic } = calibration;
  const cells = rows.map(({ row, predicted: predictedRow, isUsed }) => [
    `${row.concurrency}`,
    figure(row.inferPerSecond),
    figure(predictedRow.inferPerSecond),
    percent(predictedRow.inferPerSecond / row.inferPerSecond - 1),
    figure(row.latencyMs.p50),
    figure(predictedRow.p50Ms),
    percent(predictedRow.p50Ms / row.latencyMs.p50 - 1),
    isUsed ? 'fitted' : '',
  ]);
  return [
    `${describeSetUp(setUp)}: fitted to ${sizesAlone} batch sizes timed alone and ${rowsOfTraffic} rows of traffic`,
    ...(estimates ? estimateLines(estimates) : []),
    ...(Number.isFinite(calibration.server.windowNs)
      ? [
          `  the client's windows leave out what is under way at their edges: about ${figure(nsToMs(calibration.server.windowNs))} ms long`,
        ]
      : []),
    ...(quality ? [`  it ${quality.words}`] : []),
    ...aligned([['clients', 'infer/s', 'predicted', 'off by', 'p50 ms', 'predicted', 'off by', ''], ...cells]),
    ...(medianMiss
      ? [
          `  rows held out: median error ${percent(medianMiss.throughput)} in throughput, ${percent(medianMiss.p50)} in p50`,
        ]
      : []),
  ];
}

const names: Readonly<Record<keyof Estimates, string>> = {
  atOnce: 'executions at once',
  stepShare: 'step between batch sizes (0 straight, 1 padded)',
  perInstance: 'interference per further instance',
  perSampleShare: 'cost of a sample beyond the timed sizes',
  frontEndMs: 'front end, ms per request',
  scale: 'executions under traffic over alone',
};

const estimateLines = (estimates: Estimates): string[] =>
  (Object.keys(names) as (keyof Estimates)[]).map((key) => {
    const { value, low, high } = estimates[key];
    return `  ${names[key]}: ${figure(value)} (95 %: ${figure(low)} to ${figure(high)})`;
  });

export function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows.map(
    (row) =>
      `  ${row
        .map((cell, column) => cell.padStart(widths[column] ?? 0))
        .join('  ')
        .trimEnd()}`,
  );
}

/** Returns the origin of a model's figures, for its profile. */
export function describeSource({ setUp, heldOut }: { readonly setUp: SetUp; readonly heldOut: HeldOut }): string {
  const { calibration, medianMiss, rows } = heldOut;
  const levels = rows.flatMap(({ row, isUsed }) => (isUsed ? [row.concurrency] : []));
  const front = calibration.estimates
    ? `, a front end of ${figure(calibration.estimates.frontEndMs.value)} ms per request`
    : '';
  const miss = medianMiss
    ? `; the rows held out are met to ${percent(medianMiss.throughput)} in throughput and ${percent(medianMiss.p50)} in p50 (medians)`
    : '';
  const poor = calibration.quality?.isGood === false ? '; a poor fit' : '';
  return `${describeSetUp(setUp)}: ${calibration.sizesAlone} batch sizes timed alone and the rows with ${levels.join(', ')} clients${front}${miss}${poor}.`;
}
