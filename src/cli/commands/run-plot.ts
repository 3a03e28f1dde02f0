import { basename } from 'node:path';
import { writePictures } from '#app/profile/documents.ts';
import { joinedSetUps, readResultTable, type SetUp } from '#emulator/profile/result-table.ts';
import { sweepsOfRows } from '#report/sweep-plots.ts';
import type { Terminal } from '../terminal.ts';
import { selected } from './calibrate-set-ups.ts';
import { describeSetUp } from './calibrate-tables.ts';
import type { PlotOptions } from './plot-options.ts';
import { readTableText } from './run-calibrate.ts';

/**
 * Draws the set-ups of the tables, and prints the files. Errors: INPUT_INVALID, USAGE,
 * OUTPUT_UNWRITABLE.
 */
export async function runPlot(files: readonly string[], options: PlotOptions, terminal: Terminal): Promise<void> {
  const read: SetUp[] = [];
  for (const file of files) {
    const setUps = readResultTable(await readTableText(file), file, options.clientBatch);
    // Tables without labels are told apart by their names.
    const isPlain = files.length > 1 && setUps.every(({ labels }) => Object.keys(labels).length === 0);
    read.push(...(isPlain ? setUps.map((each) => ({ ...each, labels: { table: basename(file) } })) : setUps));
  }
  const setUps = selected(joinedSetUps(read), options.select ?? []);
  const sweeps = setUps.flatMap((setUp) => sweepsOfRows(setUp.rows, describeSetUp(setUp)));
  for (const file of await writePictures(options.output, sweeps, terminal.tell)) terminal.print(file);
}
