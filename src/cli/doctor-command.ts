import { Command } from 'commander';
import { inertLine } from '../base/format.ts';
import type { ExamineOptions } from './examine.ts';
import { worstExitCode } from './exit-codes.ts';
import { headerOptionTable } from './header-options.ts';
import { addOptions, type OptionTable } from './option-table.ts';
import type { Terminal } from './terminal.ts';
import { tlsOptionTable, warnIfInsecure } from './tls-options.ts';
import { tuneOptionTable } from './tune-options.ts';

const { url, protocol, controlUrl, metricsUrl } = tuneOptionTable;

const table: OptionTable<ExamineOptions> = {
  model: {
    flags: '-m, --model <name>',
    help: 'look at this model too; if it is loaded it is sent one request at a time for a second',
  },
  ...{ url, protocol, controlUrl, metricsUrl },
  ...tlsOptionTable,
  ...headerOptionTable,
};

/** `tritune doctor`: what is reachable, which features are there, what would go wrong; ends as a run would that met it. */
export function doctorCommand(terminal: Terminal): Command {
  const command = new Command('doctor').description(
    'say what is reachable, which features are there, and what would go wrong; nothing is loaded or changed',
  );
  return addOptions(command, table).action(async (options: ExamineOptions) => {
    warnIfInsecure(options, terminal);
    const { examine } = await import('./examine.ts');
    const codes: number[] = [];
    for await (const { state, about, text, exitCode } of examine(options)) {
      terminal.print(inertLine(`${state.padEnd(5)} ${about.padEnd(14)} ${text}`));
      codes.push(exitCode);
    }
    process.exitCode = worstExitCode(codes);
  });
}
