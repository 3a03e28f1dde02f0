import { Command } from 'commander';
import { addExamples } from '../help.ts';
import { addOptions } from '../options/option-table.ts';
import type { Terminal } from '../terminal.ts';
import { type CompareOptions, compareOptionTable } from './compare-options.ts';

/**
 * `tritune compare BASELINE RUN`: the gate. Exits with 5 for a regression, and with 6 if it cannot
 * tell.
 */
export function compareCommand(terminal: Terminal): Command {
  const command = new Command('compare')
    .description(
      'Fail with exit code 5 when a run is worse than a baseline, and with 6 when the measurements are too imprecise to tell',
    )
    .argument(
      '<baseline>',
      'summary.json, capacity.json, directory of a run, file of profile --json, or a table of results (CSV, Markdown, what perf_analyzer printed)',
    )
    .argument('<run...>', 'The same of the run to judge; several are repeated measurements');
  addExamples(
    command,
    [
      [
        'Fail when the run is more than 5 % worse',
        'tritune compare baseline/summary.json tritune-runs/resnet --tolerance 5',
      ],
    ],
    'Guide: docs/ci.md',
  );
  return addOptions(command, compareOptionTable).action(
    async (baseline: string, runs: readonly string[], options: CompareOptions) => {
      const { runCompare } = await import('./run-compare.ts');
      process.exitCode = await runCompare([baseline, ...(options.baseline ?? [])], runs, options, terminal);
    },
  );
}
