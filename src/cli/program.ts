import { Command } from 'commander';
import { trituneVersion } from '../base/version.ts';
import { benchSearchCommand } from './bench-search-command.ts';
import { calibrateCommand } from './calibrate-command.ts';
import { compareCommand } from './compare-command.ts';
import { completionCommand } from './completion-command.ts';
import { configCommand } from './config-command.ts';
import { emulateCommand } from './emulate-command.ts';
import { installCommand } from './install-command.ts';
import { profileCommand } from './profile-command.ts';
import { recordCommand } from './record-command.ts';
import { reportCommand } from './report-command.ts';
import { restoreCommand } from './restore-command.ts';
import { spaceCommand } from './space-command.ts';
import type { Terminal } from './terminal.ts';
import { traceCommand } from './trace-command.ts';
import { tuneCommand } from './tune-command.ts';

/** The whole command line. Its faults are thrown, never an exit of the process. */
export function createProgram(terminal: Terminal): Command {
  const program = new Command('tritune')
    .description('find the fastest configuration of a Triton model within a latency budget')
    .version(trituneVersion, '-V, --version')
    .showHelpAfterError('(--help lists the options)');
  for (const makeCommand of [
    tuneCommand,
    profileCommand,
    restoreCommand,
    reportCommand,
    compareCommand,
    traceCommand,
    configCommand,
    spaceCommand,
    calibrateCommand,
    emulateCommand,
    installCommand,
    recordCommand,
    benchSearchCommand,
    completionCommand,
  ]) {
    program.addCommand(makeCommand(terminal));
  }
  throwFaults(program);
  return program;
}

function throwFaults(command: Command): void {
  command.exitOverride();
  for (const inner of command.commands) throwFaults(inner);
}
