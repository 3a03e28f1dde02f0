import { Command } from 'commander';
import type { ExamineOptions } from '../../../app/doctor/examine.ts';
import { warnIfInsecure } from '../../../app/server/tls.ts';
import { inertLine } from '../../../base/format.ts';
import { exitCodeFor, worstExitCode } from '../../exit-codes.ts';
import { agentsOptionTable } from '../../options/client.ts';
import { headerOptionTable } from '../../options/headers.ts';
import { addOptions, type OptionTable } from '../../options/option-table.ts';
import { tlsOptionTable } from '../../options/tls.ts';
import type { Terminal } from '../../terminal.ts';
import { tuneOptionTable } from '../tune/options.ts';

const { url, protocol, controlUrl, metricsUrl } = tuneOptionTable;

const table: OptionTable<ExamineOptions> = {
  model: {
    flags: '-m, --model <name>',
    help: 'look at this model too; if it is loaded it is sent one request at a time for a second',
  },
  ...{ url, protocol, controlUrl, metricsUrl },
  ...tlsOptionTable,
  ...headerOptionTable,
  ...agentsOptionTable,
};

/** `tritune doctor`: what is reachable, which features are there, what would go wrong; ends as a run would that met it. */
export function doctorCommand(terminal: Terminal): Command {
  const command = new Command('doctor').description(
    'say what is reachable, which features are there, and what would go wrong; nothing is loaded or changed',
  );
  return addOptions(command, table).action(async (options: ExamineOptions) => {
    warnIfInsecure(options, terminal);
    const { examine } = await import('../../../app/doctor/examine.ts');
    const codes: number[] = [];
    for await (const { state, about, text, code } of examine(options)) {
      terminal.print(inertLine(`${state.padEnd(5)} ${about.padEnd(14)} ${text}`));
      if (code !== null) codes.push(exitCodeFor(code));
    }
    process.exitCode = worstExitCode(codes);
  });
}
