import { Command } from 'commander';
import { addOptions } from '../options/option-table.ts';
import type { Terminal } from '../terminal.ts';
import { type CalibrateOptions, calibrateOptionTable } from './calibrate-options.ts';

/**
 * `tritune calibrate TABLE...`: explains a server's figures, and makes an emulator profile that
 * behaves like it.
 */
export function calibrateCommand(terminal: Terminal): Command {
  const command = new Command('calibrate')
    .description('Fit the queueing model to a table of results, and write an emulator profile')
    .argument(
      '<table...>',
      'CSV or Markdown tables of results, results.csv of a run, or perf_analyzer: its CSV files or what it printed',
    );
  return addOptions(command, calibrateOptionTable).action(
    async (files: readonly string[], options: CalibrateOptions) => {
      const { runCalibrate } = await import('./run-calibrate.ts');
      await runCalibrate(files, options, terminal);
    },
  );
}
