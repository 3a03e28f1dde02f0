import { Command } from 'commander';
import { trituneVersion } from '#base/package.ts';
import { addExamples, layOutHelp } from './help.ts';
import { takeOtherNames } from './options/other-names.ts';
import type { Terminal } from './terminal.ts';

/**
 * A command, as the list of commands shows it. Its own modules, with all options, are loaded when
 * it is named.
 */
type Entry = readonly [summary: string, load: () => Promise<(terminal: Terminal) => Command>];

/** The commands by name, grouped by task. */
const tasks: Readonly<Record<string, Readonly<Record<string, Entry>>>> = {
  'Tune a model': {
    tune: [
      'Find the fastest configuration of a model within a budget',
      async () => (await import('./commands/tune/command.ts')).tuneCommand,
    ],
    watch: [
      'Show studies of this machine, or a fleet, live on a page',
      async () => (await import('./commands/watch.ts')).watchCommand,
    ],
    report: [
      "Write a study's report again, or browse the study",
      async () => (await import('./commands/report.ts')).reportCommand,
    ],
    restore: [
      'Put back models that a killed run left changed',
      async () => (await import('./commands/restore.ts')).restoreCommand,
    ],
  },
  Measure: {
    profile: [
      'Measure a model, a language model or any URL as it is',
      async () => (await import('./commands/profile/command.ts')).profileCommand,
    ],
    explain: [
      'Say why a live service is slow, without a request to it',
      async () => (await import('./commands/explain.ts')).explainCommand,
    ],
    capacity: [
      'Find the highest request rate within a latency budget',
      async () => (await import('./commands/capacity.ts')).capacityCommand,
    ],
    plot: [
      'Draw throughput over latency, and its parts, from tables of results',
      async () => (await import('./commands/plot.ts')).plotCommand,
    ],
    trace: [
      "Show where time goes, from Triton's trace files",
      async () => (await import('./commands/trace.ts')).traceCommand,
    ],
  },
  'Decide in CI': {
    compare: [
      'Fail when a run is worse than a baseline',
      async () => (await import('./commands/compare.ts')).compareCommand,
    ],
  },
  'Prepare and inspect': {
    doctor: [
      'Check server, model and connection before a run',
      async () => (await import('./commands/doctor.ts')).doctorCommand,
    ],
    config: [
      'Create, edit, check or load a config.pbtxt',
      async () => (await import('./commands/config.ts')).configCommand,
    ],
    space: ['List, check and describe search spaces', async () => (await import('./commands/space.ts')).spaceCommand],
    workload: [
      'Draw, check, create and split workload files',
      async () => (await import('./commands/workload.ts')).workloadCommand,
    ],
    schema: ['Print the JSON Schema of a document', async () => (await import('./commands/schema.ts')).schemaCommand],
  },
  'Let agents work': {
    mcp: [
      'Serve tools for agents over the Model Context Protocol',
      async () => (await import('./commands/mcp.ts')).mcpCommand,
    ],
  },
  'Use many machines': {
    fleet: [
      'Tune many servers at once, or send load from many machines',
      async () => (await import('./commands/fleet.ts')).fleetCommand,
    ],
  },
  'Work without a server': {
    emulate: [
      "Serve emulated models over Triton's and OpenAI's protocols",
      async () => (await import('./commands/emulate.ts')).emulateCommand,
    ],
    'install-triton': [
      'Install Triton from PyPI, for --launch local',
      async () => (await import('./commands/install-triton.ts')).installCommand,
    ],
    calibrate: [
      'Fit the queueing model to results, for an emulator profile',
      async () => (await import('./commands/calibrate.ts')).calibrateCommand,
    ],
  },
  'Help and shell': {
    completion: [
      'Print the completion script of a shell',
      async () => (await import('./commands/completion.ts')).completionCommand,
    ],
  },
};

const helpCommand = (): Command =>
  new Command('help').argument('[command]').description('Show the help of a command').helpGroup('Help and shell:');

/**
 * Returns the command line. It throws faults and never exits the process. With `args`, only the
 * command that they name knows its options; loading those of all takes five times as long as Node
 * takes to start.
 */
export async function createProgram(terminal: Terminal, args: readonly string[] | null = null): Promise<Command> {
  const program = new Command('tritune')
    .usage('COMMAND [options]')
    .description('Find the fastest configuration of a model on NVIDIA Triton within a latency budget')
    .version(trituneVersion, '-V, --version', 'Show the version')
    .addHelpCommand(helpCommand());
  const isNamed = namedIn(args);
  for (const [task, entries] of Object.entries(tasks)) {
    for (const [name, [summary, load]] of Object.entries(entries)) {
      const command = isNamed(name) ? (await load())(terminal) : new Command(name);
      program.addCommand(command.summary(summary).helpGroup(`${task}:`));
    }
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

/** Returns whether the arguments need a command's options: those of `completion` need all. */
function namedIn(args: readonly string[] | null): (name: string) => boolean {
  const [first, second] = args?.filter((each) => !each.startsWith('-')) ?? ['completion'];
  const named = first === 'help' ? second : first;
  return (name) => named === 'completion' || named === name;
}

/**
 * Gives a command and those below it the same help layout. Usage errors are printed in one line,
 * like any other error, and thrown.
 */
export function setUp(command: Command, terminal: Terminal): void {
  layOutHelp(command);
  takeOtherNames(command, terminal);
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
