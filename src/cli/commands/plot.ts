import { Command } from 'commander';
import { addOptions } from '../options/option-table.ts';
import type { Terminal } from '../terminal.ts';
import { type PlotOptions, plotOptionTable } from './plot-options.ts';

/** `tritune plot TABLE...`: draws tables of results. */
export function plotCommand(terminal: Terminal): Command {
  const command = new Command('plot')
    .description('Draw throughput over latency, and the parts of latency, from tables of results')
    .argument(
      '<table...>',
      'CSV or Markdown tables of results, results.csv of a run, or perf_analyzer: its CSV files or what it printed',
    );
  return addOptions(command, plotOptionTable).action(async (files: readonly string[], options: PlotOptions) => {
    const { runPlot } = await import('./run-plot.ts');
    await runPlot(files, options, terminal);
  });
}
