import { type Command, type Help, Option } from 'commander';

const layout: Partial<Help> = { subcommandTerm: (command) => command.name(), optionDescription };

/** Gives the command the common layout of help. Call it after adding the command's options. */
export function layOutHelp(command: Command): Command {
  command.configureHelp(layout);
  const options = command.createHelp().visibleOptions(command);
  const last = options.some(({ helpGroupHeading }) => helpGroupHeading === 'Output:') ? 'Output:' : 'Options:';
  return command.addHelpOption(new Option('-h, --help', 'Show this help').helpGroup(last));
}

/**
 * Returns the description, then the choices and the default in brackets. A switch shows no default:
 * it is off.
 */
function optionDescription({ description, argChoices, defaultValue }: Option): string {
  const [, words = description, written] = /^(.*) \((default: .*)\)$/s.exec(description) ?? [];
  const given = defaultValue === undefined || typeof defaultValue === 'boolean' ? [] : [`default: ${defaultValue}`];
  const notes = [...(argChoices ? [argChoices.join(', ')] : []), ...(written === undefined ? given : [written])];
  return notes.length === 0 ? words : `${words} (${notes.join('; ')})`;
}

/** A command line, and its purpose. */
export type Example = readonly [purpose: string, line: string];

/** Ends the command's help with examples and a last line, such as a link to its guide. */
export function addExamples(command: Command, examples: readonly Example[], last?: string): Command {
  const lines = examples.map(([purpose, line]) => `  # ${purpose}\n  ${line}`);
  return command.addHelpText('after', `\nExamples:\n${lines.join('\n')}${last === undefined ? '' : `\n\n${last}`}`);
}
