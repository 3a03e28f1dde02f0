import { Command } from 'commander';
import { trituneVersion } from '../src/base/package.ts';
import { runAtTerminal } from '../src/cli/command-line.ts';
import { setUp } from '../src/cli/program.ts';
import type { Terminal } from '../src/cli/terminal.ts';
import { benchSearchCommand } from './commands/bench-search.ts';
import { recordCommand } from './commands/record.ts';

/** Returns the command line of `tritune-lab`. It throws faults and never exits the process. */
export async function createLabProgram(terminal: Terminal): Promise<Command> {
  const program = new Command('tritune-lab')
    .usage('COMMAND [options]')
    .description("Develop tritune's samplers: compare them offline, and record what they are compared on")
    .version(trituneVersion, '-V, --version', 'Show the version');
  program.addCommand(benchSearchCommand(terminal).summary('Compare the samplers offline'));
  program.addCommand(recordCommand(terminal).summary('Measure a whole search space, for bench-search'));
  setUp(program, terminal);
  return program;
}

/**
 * Runs the program, from its arguments to its exit code. Errors: none; reports failures in one
 * line.
 */
export const runLab = (): Promise<void> => runAtTerminal(async () => process.argv.slice(2), createLabProgram);
