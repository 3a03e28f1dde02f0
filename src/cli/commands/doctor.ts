import { Command } from 'commander';
import type { ExamineOptions } from '#app/examine.ts';
import { exitCodeFor, worstExitCode } from '#app/exit-codes.ts';
import type { AnyProtocol } from '#app/server/find-protocol.ts';
import { warnIfInsecure } from '#app/server/tls.ts';
import { inertLine } from '#base/format.ts';
import { addExamples } from '../help.ts';
import { agentsOptionTable } from '../options/client.ts';
import { headerOptionTable } from '../options/headers.ts';
import { addOptions, type OptionTable } from '../options/option-table.ts';
import { tlsOptionTable } from '../options/tls.ts';
import type { Terminal } from '../terminal.ts';
import { withCommandName } from '../typed-commands.ts';
import { connectionOptionTable } from './tune/options.ts';

const table: OptionTable<ExamineOptions> = {
  model: {
    flags: '-m, --model <name>',
    help: 'Check this model too; a loaded model gets one request at a time for a second',
  },
  ...connectionOptionTable,
  ...tlsOptionTable,
  ...headerOptionTable,
  ...agentsOptionTable,
};

/**
 * `tritune doctor`: reports what is reachable, which features there are, and what would go wrong.
 * Its exit code is that of a run with the same fault.
 */
export function doctorCommand(terminal: Terminal): Command {
  const command = new Command('doctor').description(
    'Check the server, the model and the connection before a run; change nothing',
  );
  addExamples(command, [['Check a server and a model', 'tritune doctor --url gpu-box:8001 --model resnet']]);
  return addOptions(command, table).action(async (examineOptions: AnyProtocol<ExamineOptions>) => {
    const { withProtocol } = await import('#app/server/find-protocol.ts');
    const options = await withProtocol<ExamineOptions>(examineOptions);
    warnIfInsecure(options, terminal);
    const { examine } = await import('#app/examine.ts');
    const codes: number[] = [];
    for await (const { state, about, text, code } of examine(options)) {
      terminal.print(inertLine(`${state.padEnd(5)} ${about.padEnd(18)} ${withCommandName(text)}`));
      if (code !== null) codes.push(exitCodeFor(code));
    }
    process.exitCode = worstExitCode(codes);
  });
}
