import { median } from 'simple-statistics';
import type { Figure, OurMode, PeerMode } from './client-experiments.ts';
import type { Reading } from './client-run.ts';

/** A client or mode, and its readings. */
export interface Contender {
  readonly mode: OurMode | PeerMode;
  /** One reading for each round; null for a failed run of the peer. */
  readonly readings: (Reading | null)[];
}

export interface Row {
  readonly figure: string;
  readonly ours: string;
  readonly peer: string;
  readonly ratio: string;
  readonly target: string;
  readonly met: string;
}

/** Compares our figure with the best of the peer's modes. Takes ratios within a round. */
export function compare(figure: Figure, contenders: readonly Contender[]): Row {
  const valuesOf = (mode: OurMode | PeerMode): (number | null)[] =>
    (contenders.find((contender) => contender.mode === mode) as Contender).readings.map(
      (reading) => reading && figure.of(reading),
    );
  const ours = valuesOf(figure.ours) as number[];
  const peers = figure.modes
    .map((mode) => ({ mode, values: valuesOf(mode) }))
    .filter(({ values }) => values.some(isSet));
  const common = {
    figure: figure.name,
    ours: `${brief(median(ours))} ${figure.unit}`,
    target: `${figure.higher ? 'at least' : 'at most'} ${figure.target}`,
  };
  if (peers.length === 0) return { ...common, peer: 'failed', ratio: '', met: 'not known' };
  const typical = (values: readonly (number | null)[]): number => median(values.filter(isSet));
  const best = peers.reduce((a, b) => (typical(b.values) > typical(a.values) === figure.higher ? b : a));
  const ratios = best.values.flatMap((value, round) => (value === null ? [] : [(ours[round] as number) / value]));
  const ratio = median(ratios);
  const met = figure.higher ? ratio >= figure.target : ratio <= figure.target;
  return {
    ...common,
    peer: `${brief(typical(best.values))} ${figure.unit} (${best.mode.name})`,
    ratio: `${ratio.toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`,
    met: met ? 'yes' : 'no',
  };
}

const isSet = (value: number | null): value is number => value !== null;
const brief = (value: number): string => value.toFixed(value < 100 ? 1 : 0);

/**
 * Returns how well a rate is kept, and how late requests are sent; the peer does not report the
 * latter.
 */
export function openLoopRows(perSecond: number, [ours, peer]: readonly Contender[]): Row[] {
  const readingsOf = (contender: Contender | undefined): Reading[] =>
    (contender as Contender).readings.filter((reading) => reading !== null);
  const errors = (readings: readonly Reading[]): number[] =>
    readings.map(({ sentPerSecond }) => Math.abs((sentPerSecond as number) / perSecond - 1) * 100);
  const peerErrors = errors(readingsOf(peer));
  const ourErrors = errors(readingsOf(ours));
  const lateUs = readingsOf(ours).map(({ lateP50Us }) => lateP50Us as number);
  const row = (
    figure: string,
    values: readonly number[],
    digits: number,
    unit: string,
    limit: number,
  ): Omit<Row, 'peer'> => ({
    figure,
    ours: `${median([...values]).toFixed(digits)} ${unit}`,
    ratio: `(ours ${Math.min(...values).toFixed(digits)} to ${Math.max(...values).toFixed(digits)})`,
    target: `at most ${limit} ${unit}`,
    met: median([...values]) <= limit ? 'yes' : 'no',
  });
  return [
    {
      ...row(`rate error, open loop, gRPC, ${perSecond}/s`, ourErrors, 2, '%', 0.5),
      peer: peerErrors.length > 0 ? `${median(peerErrors).toFixed(2)} %` : 'failed',
    },
    { ...row('p50 of send lateness, same runs', lateUs, 0, 'us', 100), peer: 'not reported' },
  ];
}

/** Prints a Markdown table. */
export function printTable(rows: readonly Row[]): void {
  const columns: readonly (readonly [keyof Row, string])[] = [
    ['figure', 'figure'],
    ['ours', 'ours'],
    ['peer', 'perf_analyzer, best mode'],
    ['ratio', 'ratio (range)'],
    ['target', 'target'],
    ['met', 'met'],
  ];
  const lines = [columns.map(([, title]) => title), ...rows.map((row) => columns.map(([key]) => row[key]))];
  const widths = columns.map((_, column) => Math.max(...lines.map((line) => (line[column] as string).length)));
  const print = (cells: readonly string[]): void =>
    console.log(`| ${cells.map((cell, column) => cell.padEnd(widths[column] as number)).join(' | ')} |`);
  const [head, ...body] = lines as [string[], ...string[][]];
  print(head);
  print(widths.map((width) => '-'.repeat(width)));
  for (const line of body) print(line);
}
