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
import { addExamples, layOutHelp } from './help.ts';
import type { Terminal } from './terminal.ts';

/** The commands, grouped by task. */
const tasks: Readonly<Record<string, readonly ((terminal: Terminal) => Command)[]>> = {
  'Tune a model': [tuneCommand, watchCommand, reportCommand, restoreCommand],
  Measure: [profileCommand, capacityCommand, traceCommand],
  'Decide in CI': [compareCommand],
  'Prepare and inspect': [doctorCommand, configCommand, spaceCommand, workloadCommand],
  'Use many machines': [fleetCommand],
  'Work without a server': [emulateCommand, installCommand, calibrateCommand, recordCommand, benchSearchCommand],
  'Help and shell': [completionCommand],
};

const helpCommand = (): Command =>
  new Command('help').argument('[command]').description('Show the help of a command').helpGroup('Help and shell:');

/** Returns the whole command line. It throws faults and never exits the process. */
export function createProgram(terminal: Terminal): Command {
  const program = new Command('tritune')
    .usage('COMMAND [options]')
    .description('Find the fastest configuration of a model on NVIDIA Triton within a latency budget')
    .version(trituneVersion, '-V, --version', 'Show the version')
    .addHelpCommand(helpCommand());
  for (const [task, commands] of Object.entries(tasks)) {
    for (const makeCommand of commands) program.addCommand(makeCommand(terminal).helpGroup(`${task}:`));
  }
  addExamples(
    program,
    [
      [
        'See a study on an emulated server; no Triton and no GPU are needed',
        'tritune tune --launch emulator --model yolov7 --latency-budget 50 --time-budget 1m',
      ],
      ['Tune a model of a Triton', 'tritune tune --url gpu-box:8001 --model resnet --latency-budget 20'],
    ],
    'tritune COMMAND --help lists the options of a command.\ndocs/tutorial.md is a guide for the first ten minutes.',
  );
  setUp(program, terminal);
  return program;
}

/** Gives every command the same help layout. Usage errors are printed in one line, like any other error, and thrown. */
function setUp(command: Command, terminal: Terminal): void {
  layOutHelp(command);
  command.exitOverride();
  command.configureOutput({ outputError: (text) => terminal.tell(usageLine(text)) });
  for (const inner of command.commands) setUp(inner, terminal);
}

/** Commander's message on a wrong value. Ours follows it, and names the value. */
const WRONG_VALUE = /^option '(?:-\w, )?(--[\w-]+)[^']*' argument '(.*?)' is invalid\. /;

/** Commander prints `error: MESSAGE`, with suggestions on separate lines. */
function usageLine(text: string): string {
  const what = text
    .replace(/^error: /, '')
    .trim()
    .replace(/\s*\n\s*/g, ' ')
    .replace(WRONG_VALUE, (_, flag: string, value: string, at: number, whole: string) =>
      whole.includes('. Allowed choices are ', at) ? `${flag}: '${value}' is not a choice. ` : `${flag}: `,
    );
  return `tritune: USAGE: ${what.endsWith(')') ? what : `${what.replace(/\.$/, '')} (--help lists the options)`}`;
}
