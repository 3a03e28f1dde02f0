import type { Command, Help, Option } from 'commander';
import { printExample, printPage } from './markdown.ts';
import { code } from './type-words.ts';

/** Options by what their help says, each with the command that lists it first. */
type Listed = Map<string, string>;

const FIRST_HEADING = 'Most used';

/**
 * Returns the page of the commands and their options, as Markdown: a section for each command, in
 * it one for each group, and an item for each option.
 */
export const commandPage = (program: Command): string =>
  printPage('Commands and options', [
    'Each option is an item; its name is a link to it. An option that several commands share has its text at the first of them. [Install](install.md) says how to get the command.',
    ...sectionsOf(program, new Map(), []),
  ]);

function sectionsOf(command: Command, listed: Listed, parents: readonly string[]): readonly string[] {
  const names = [...parents, command.name()];
  const name = names.join(' ');
  const help = command.createHelp();
  const after = afterHelp(command);
  return [
    `## ${name}`,
    ...(command.description() === '' ? [] : [`${plain(command.description())}.`]),
    code(help.commandUsage(command)),
    ...commandsWithin(command, help, names),
    ...argumentsOf(command, help),
    ...optionsOf(command, help, listed, name),
    ...(after.examples === '' ? [] : ['**Examples**', printExample('sh', after.examples)]),
    ...(after.last === '' ? [] : [plain(after.last)]),
    ...help
      .visibleCommands(command)
      .filter((each) => each.name() !== 'help')
      .flatMap((each) => sectionsOf(each as Command, listed, names)),
  ];
}

/** The commands within one, each with a link to its section. */
function commandsWithin(command: Command, help: Help, names: readonly string[]): readonly string[] {
  const items = help
    .visibleCommands(command)
    .filter((each) => each.name() !== 'help')
    .map((each) => {
      const name = [...names, each.name()].join(' ');
      return `- [\`${each.name()}\`](#${name.replaceAll(' ', '-')}): ${plain(help.subcommandDescription(each))}`;
    });
  return items.length === 0 ? [] : [items.join('\n')];
}

function argumentsOf(command: Command, help: Help): readonly string[] {
  const items = help
    .visibleArguments(command)
    .map((each) => `- \`${help.argumentTerm(each)}\`: ${plain(help.argumentDescription(each))}`);
  return items.length === 0 ? [] : [items.join('\n')];
}

function optionsOf(command: Command, help: Help, listed: Listed, name: string): readonly string[] {
  const keyOf = (option: Option): string => `${option.flags} ${help.optionDescription(option)}`;
  const options = help.visibleOptions(command).filter(({ long = '' }) => !['--help', '--help-all'].includes(long));
  const groups = Map.groupBy(options, ({ helpGroupHeading }) => (helpGroupHeading ?? 'Options:').replace(/:$/, ''));
  const blocks = [...groups].flatMap(([group, all]) => {
    const [known, fresh] = [true, false].map((isKnown) =>
      all.filter((option) => (group !== FIRST_HEADING && listed.has(keyOf(option))) === isKnown),
    ) as [Option[], Option[]];
    const places = Map.groupBy(known, (option) => listed.get(keyOf(option)) ?? '');
    const references = [...places].map(
      ([place, same]) =>
        `As in [${place}](#${place.replaceAll(' ', '-')}): ${same.map(({ long }) => code(long ?? '')).join(', ')}.`,
    );
    const items = fresh.map((option) => `- ${code(option.flags)}: ${plain(help.optionDescription(option))}`);
    return [`### ${group}`, ...(items.length === 0 ? [] : [items.join('\n')]), ...references];
  });
  for (const option of options) if (!listed.has(keyOf(option))) listed.set(keyOf(option), name);
  return blocks;
}

/** What the help of a command ends with: its examples, and a last line. */
function afterHelp(command: Command): { readonly examples: string; readonly last: string } {
  const parts: string[] = [];
  command.configureOutput({ writeOut: (part) => void parts.push(part) }).outputHelp();
  const [, text = ''] = /\nExamples:\n(.*)$/s.exec(parts.join('')) ?? [];
  // What the help leaves out is on the page.
  const [examples = '', ...rest] = text
    .replace(/\nMore with --help-all: .*/, '')
    .trimEnd()
    .split('\n\n');
  return { examples: examples.replace(/^ {2}/gm, ''), last: rest.join(' ').replaceAll('\n', ' ') };
}

/** The names of all metrics, which have a page. */
const METRICS = /Metrics \(units in (docs\/reference\/metrics\.md)\): [\w, -]+/;

/** Text as Markdown that shows it as it is, with links to the pages that it names. */
const plain = (text: string): string =>
  text
    .replace(METRICS, 'See $1')
    .replaceAll(process.env.HOME ?? '\0', '~')
    .replace(/[<*_|[\]\\`]/g, '\\$&')
    .replace(/docs\/([\w/-]+)\.md/g, '[$1]($1.md)');
