import { Command } from 'commander';
import { addOptions } from '../options/option-table.ts';
import type { Terminal } from '../terminal.ts';
import { formerSchemaCommand } from './schema.ts';
import {
  type FromLogOptions,
  fromLogTable,
  type ShowOptions,
  type SplitOptions,
  showTable,
  splitTable,
} from './workload-options.ts';

/** `tritune workload show|check|from-log|split`: which requests arrive when, as files. */
export function workloadCommand(terminal: Terminal): Command {
  const command = new Command('workload').description('Draw, check, create and split workload files');
  const run = () => import('./run-workload.ts');
  const show = new Command('show')
    .description('Draw the request rate of a workload over time, by class')
    .argument('<file>', 'Workload file');
  command.addCommand(
    addOptions(show, showTable).action(async (file: string, options: ShowOptions) =>
      (await run()).showWorkload(file, options, terminal),
    ),
  );
  command
    .command('check')
    .description('Check workload files and their traces, and describe them')
    .argument('<files...>')
    .action(async (files: string[]) => (await run()).checkWorkloads(files, terminal));
  const fromLog = new Command('from-log')
    .description("Create a workload from access logs, JSON lines, CSV, Triton's traces or Prometheus' request counters")
    .argument('<files...>', 'Files of one format, which is detected');
  command.addCommand(
    addOptions(fromLog, fromLogTable).action(async (files: string[], options: FromLogOptions) =>
      (await run()).workloadFromLog(files, options, terminal),
    ),
  );
  const split = new Command('split')
    .description('Split the trace of a workload into a part to tune on and a part to judge by')
    .argument('<file>', 'Workload file with a trace');
  command.addCommand(
    addOptions(split, splitTable).action(async (file: string, options: SplitOptions) =>
      (await run()).splitFile(file, options, terminal),
    ),
  );
  return command.addCommand(formerSchemaCommand('workload', terminal), { hidden: true });
}
