import { type Command, Help, Option } from 'commander';
import type { Heading } from './options/headings.ts';

/** A help with more options leaves out those under the headings below. */
const MAX_OPTIONS = 60;

/** What few people type; `--set`, `--help-all` and the reference have it. */
const rare: readonly Heading[] = [
  'Sequences',
  'Workloads',
  'Language models',
  'Plain HTTP',
  'Cost and replicas',
  'Accuracy',
  'Headers and tokens',
  'TLS',
  'Server started for the run',
  'Safety',
  'Load generator',
  'Agents',
  'Fleet',
  'Temporal',
  'Trace of the server',
];

const layout: Partial<Help> = { subcommandTerm: (command) => command.name(), optionDescription };

/**
 * Gives the command the common layout of help. A long help leaves out what is rare, and says how to
 * see it. Call it after adding the command's options.
 */
export function layOutHelp(command: Command): Command {
  command.configureHelp(layout);
  const options = command.createHelp().visibleOptions(command);
  const last = options.some(({ helpGroupHeading }) => helpGroupHeading === 'Output:') ? 'Output:' : 'Options:';
  if (options.length > MAX_OPTIONS) shortenHelp(command, options, last);
  return command.addHelpOption(new Option('-h, --help', 'Show this help').helpGroup(last));
}

function shortenHelp(command: Command, options: readonly Option[], last: string): void {
  const isRare = (heading: string): boolean => (rare as readonly string[]).includes(heading.replace(/:$/, ''));
  const groups = Map.groupBy(options, ({ helpGroupHeading = 'Options:' }) => helpGroupHeading);
  const left = [...groups].filter(([heading]) => isRare(heading));
  const listed = left.map(([heading, { length }]) => `${heading.replace(/:$/, '')} (${length})`).join(', ');
  const groupItems: Help['groupItems'] = (...items) =>
    new Map([...new Help().groupItems(...items)].filter(([heading]) => !isRare(heading)));
  let isWhole = false;
  command
    .configureHelp({ ...layout, groupItems })
    .addOption(new Option('--help-all', 'Show all options').helpGroup(last))
    .addHelpText('after', () => (isWhole ? '' : `\nMore with --help-all: ${listed}`))
    .on('option:help-all', () => {
      isWhole = true;
      command.configureHelp(layout).help();
    });
}

/**
 * Returns the description, then the choices and the default in brackets. A switch shows no default:
 * it is off.
 */
function optionDescription({ description, argChoices, defaultValue }: Option): string {
  const [, words = description, written] = /^(.*) \((default: .*)\)$/s.exec(description) ?? [];
  const givenNotes =
    defaultValue === undefined || typeof defaultValue === 'boolean' ? [] : [`default: ${defaultValue}`];
  const notes = [...(argChoices ? [argChoices.join(', ')] : []), ...(written === undefined ? givenNotes : [written])];
  return notes.length === 0 ? words : `${words} (${notes.join('; ')})`;
}

/** A command line, and its purpose. */
export type Example = readonly [purpose: string, line: string];

/** Ends the command's help with examples and a last line, such as a link to its guide. */
export function addExamples(command: Command, examples: readonly Example[], last?: string): Command {
  const lines = examples.map(([purpose, line]) => `  # ${purpose}\n  ${line}`);
  return command.addHelpText('after', `\nExamples:\n${lines.join('\n')}${last === undefined ? '' : `\n\n${last}`}`);
}
