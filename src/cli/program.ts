import { Command } from 'commander';
import { trituneVersion } from '../base/version.ts';
import { benchSearchCommand } from './commands/bench-search/command.ts';
import { calibrateCommand } from './commands/calibrate/command.ts';
import { capacityCommand } from './commands/capacity/command.ts';
import { compareCommand } from './commands/compare/command.ts';
import { completionCommand } from './commands/completion/command.ts';
import { configCommand } from './commands/config/command.ts';
import { doctorCommand } from './commands/doctor/command.ts';
import { emulateCommand } from './commands/emulate/command.ts';
import { fleetCommand } from './commands/fleet/command.ts';
import { installCommand } from './commands/install-triton/command.ts';
import { profileCommand } from './commands/profile/command.ts';
import { recordCommand } from './commands/record/command.ts';
import { reportCommand } from './commands/report/command.ts';
import { restoreCommand } from './commands/restore/command.ts';
import { spaceCommand } from './commands/space/command.ts';
import { traceCommand } from './commands/trace/command.ts';
import { tuneCommand } from './commands/tune/command.ts';
import { watchCommand } from './commands/watch/command.ts';
import { workloadCommand } from './commands/workload/command.ts';
import type { Terminal } from './terminal.ts';

/** The whole command line. Its faults are thrown, never an exit of the process. */
export function createProgram(terminal: Terminal): Command {
  const program = new Command('tritune')
    .description('find the fastest configuration of a Triton model within a latency budget')
    .version(trituneVersion, '-V, --version');
  for (const makeCommand of [
    tuneCommand,
    profileCommand,
    capacityCommand,
    restoreCommand,
    doctorCommand,
    reportCommand,
    compareCommand,
    traceCommand,
    configCommand,
    spaceCommand,
    workloadCommand,
    calibrateCommand,
    emulateCommand,
    fleetCommand,
    watchCommand,
    installCommand,
    recordCommand,
    benchSearchCommand,
    completionCommand,
  ]) {
    program.addCommand(makeCommand(terminal));
  }
  tellFaults(program, terminal);
  return program;
}

/** A fault of the command line is thrown, after it was said in one line as every other error is. */
function tellFaults(command: Command, terminal: Terminal): void {
  command.exitOverride();
  command.configureOutput({ outputError: (text) => terminal.tell(usageLine(text)) });
  for (const inner of command.commands) tellFaults(inner, terminal);
}

/** Commander says `error: WHAT`, and on lines of their own what may have been meant. */
function usageLine(text: string): string {
  const what = text
    .replace(/^error: /, '')
    .trim()
    .replace(/\s*\n\s*/g, ' ');
  return `tritune: USAGE: ${what.endsWith(')') ? what : `${what.replace(/\.$/, '')} (--help lists the options)`}`;
}
