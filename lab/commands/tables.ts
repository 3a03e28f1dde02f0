import type { Terminal } from '../../src/cli/terminal.ts';
import type { Promised } from '../problems/contest.ts';
import { type Result, sharesByStarts, summarize, summarizeChances, summarizeStops } from '../problems/suite.ts';

const WIDEST_CELL = '  100 / 100 / 100'.length;

/**
 * Prints shares of the optimum after some measurements, in per cent: median, worst tenth and worst.
 */
export function printShares(
  title: string,
  results: readonly Result[],
  names: readonly string[],
  most: number,
  terminal: Terminal,
): void {
  if (results.length === 0) return;
  const after = [6, 9, 12, 16, 20, 24].filter((count) => count <= most);
  const counts = after.length > 0 ? after : [most];
  terminal.print('');
  terminal.print(`${title}: % of the optimum, median / worst tenth / worst, by number of measurements`);
  const head = counts.map((count) => `${count}`.padStart(WIDEST_CELL)).join('');
  terminal.print(`${''.padEnd(12)}${head}   reloads  seconds  levels  stops`);
  for (const name of names) {
    const keptResults = results.filter(({ sampler }) => sampler === name);
    if (keptResults.length === 0) continue;
    const summaries = counts.map((count) => summarize(keptResults, count));
    const cells = summaries.map(({ median, worstTenth, worst }) =>
      [median, worstTenth, worst].map(percent).join(' / '),
    );
    const at = summarize(keptResults, Math.min(12, most));
    const stops = summarizeStops(keptResults);
    const stopped = stops
      ? `${stops.stopped} of ${keptResults.length}, after ${stops.measurements} at ${percent(stops.share)}`
      : 'none';
    terminal.print(
      `${name.padEnd(12)}${cells.map((cell) => cell.padStart(WIDEST_CELL)).join('')}   ${at.reloads.toFixed(1).padStart(7)}  ${at.seconds.toFixed(0).padStart(7)}  ${at.levels.toFixed(1).padStart(6)}  ${stopped}`,
    );
  }
}

const STARTS = [2, 4, 6, 8, 10];

/**
 * Prints shares of the optimum after some starts of a server, including the original's, in per
 * cent: median, worst tenth and worst.
 */
export function printStarts(
  title: string,
  results: readonly Result[],
  names: readonly string[],
  terminal: Terminal,
): void {
  if (results.length === 0) return;
  terminal.print('');
  terminal.print(`${title}: % of the optimum, median / worst tenth / worst, by number of starts`);
  const head = STARTS.map((count) => `${count}`.padStart(WIDEST_CELL)).join('');
  terminal.print(`${''.padEnd(12)}${head}   searches`);
  for (const name of names) {
    const keptResults = results.filter(({ sampler }) => sampler === name);
    const cells = STARTS.map((starts) => {
      const { median, worstTenth, worst } = sharesByStarts(keptResults, starts);
      return [median, worstTenth, worst].map(percent).join(' / ');
    });
    terminal.print(
      `${name.padEnd(12)}${cells.map((cell) => cell.padStart(WIDEST_CELL)).join('')}   ${`${keptResults.length}`.padStart(8)}`,
    );
  }
}

/** Prints how often proposals met the goal, by the sampler's predicted chance. */
export function tellChances(results: readonly Result[], names: readonly string[], terminal: Terminal): void {
  for (const name of names) {
    const promises = results.flatMap(({ sampler, outcome }) => (sampler === name ? outcome.promises : []));
    tellBands(`${name.padEnd(12)}met the goal, by the chance they were given`, promises, terminal);
  }
}

/** Prints how often statements were true, by their chance. */
export function tellBands(title: string, promises: readonly Promised[], terminal: Terminal): void {
  const texts = summarizeChances(promises).map(
    ({ low, high, count, met }) => `${percent(low)} to ${percent(high)} %: ${percent(met)} % of ${count}`,
  );
  if (texts.length > 0) terminal.print(`${title}: ${texts.join('; ')}`);
}

const percent = (share: number): string => (100 * share).toFixed(0);
