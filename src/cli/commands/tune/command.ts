import { Command } from 'commander';
import { addExamples, type Example } from '../../help.ts';
import { addOptions } from '../../options/option-table.ts';
import type { Terminal } from '../../terminal.ts';
import { type SeriesFlags, seriesOptionTable } from './series-options.ts';

const mostUsed = [
  ...(['model', 'url', 'latencyBudget', 'timeBudget', 'space', 'launch', 'output', 'resume'] as const),
  ...(['dryRun', 'ui'] as const),
];

const examples: readonly Example[] = [
  ['Keep the p99 latency within 20 ms', 'tritune tune --url gpu-box:8001 --model resnet --latency-budget 20'],
  [
    'Stop after ten minutes, and use at most 8 GB of GPU memory',
    "tritune tune -m resnet --latency-budget 20 --time-budget 10m --constraint 'gpu-memory<=8000'",
  ],
  ['Try it without a server', 'tritune tune --launch emulator --model yolov7 --latency-budget 50 --time-budget 1m'],
];

/**
 * `tritune tune`: the whole run. Its exit code says how it ended. Modules that only one command
 * needs are loaded when it runs.
 */
export function tuneCommand(terminal: Terminal): Command {
  const command = new Command('tune').description(
    'Search for the fastest configuration of a model within a latency budget',
  );
  addExamples(command, examples, 'Guide: docs/tutorial.md');
  return addOptions(command, seriesOptionTable, mostUsed).action(async (options: SeriesFlags) => {
    const named = new Set(Object.keys(seriesOptionTable).filter((key) => command.getOptionValueSource(key) === 'cli'));
    const { runTune } = await import('./run.ts');
    process.exitCode = await runTune(options, named, terminal);
  });
}
