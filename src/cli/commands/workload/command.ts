import { Command } from 'commander';
import { addOptions } from '../../options/option-table.ts';
import type { Terminal } from '../../terminal.ts';
import {
  type FromLogOptions,
  fromLogTable,
  type ShowOptions,
  type SplitOptions,
  showTable,
  splitTable,
} from './options.ts';

/** `tritune workload show|check|from-log|split|schema`: which requests arrive when, as files. */
export function workloadCommand(terminal: Terminal): Command {
  const command = new Command('workload').description('draw, check, make and split workload files');
  const run = () => import('./run.ts');
  const show = new Command('show')
    .description('draw the rate over time by class, with the figures of a workload')
    .argument('<file>', 'a workload file');
  command.addCommand(
    addOptions(show, showTable).action(async (file: string, options: ShowOptions) =>
      (await run()).showWorkload(file, options, terminal),
    ),
  );
  command
    .command('check')
    .description('read workload files, with the traces that they name, and say what they hold')
    .argument('<files...>')
    .action(async (files: string[]) => (await run()).checkWorkloads(files, terminal));
  const fromLog = new Command('from-log')
    .description(
      "make a workload of an access log, JSON lines, CSV, Triton's trace files, or Prometheus' counters of requests",
    )
    .argument('<files...>', 'files of one form, which is found by their content');
  command.addCommand(
    addOptions(fromLog, fromLogTable).action(async (files: string[], options: FromLogOptions) =>
      (await run()).workloadFromLog(files, options, terminal),
    ),
  );
  const split = new Command('split')
    .description('split the traces of a workload into a part to choose on and a part to judge on')
    .argument('<file>', 'a workload file with a trace');
  command.addCommand(
    addOptions(split, splitTable).action(async (file: string, options: SplitOptions) =>
      (await run()).splitFile(file, options, terminal),
    ),
  );
  command
    .command('schema')
    .description('the JSON Schema of workload files, for editors')
    .action(async () => (await run()).printSchema(terminal));
  return command;
}
