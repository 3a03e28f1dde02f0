import type { Argument, Command, Option } from 'commander';
import { OfferingOption } from '../../options/option-table.ts';

/** What may follow an option, or stand as an argument: some of these words, files, directories, words or files, or a text of the user's own. */
export interface Value {
  readonly words: readonly string[];
  readonly paths: 'files' | 'directories' | null;
}

interface OutlinedOption {
  readonly short: string | null;
  readonly long: string;
  readonly help: string;
  /** null for a switch. */
  readonly value: Value | null;
}

/** A command as a completion needs it. */
export interface Outline {
  readonly name: string;
  readonly help: string;
  readonly options: readonly OutlinedOption[];
  readonly arguments: readonly (Value & { readonly name: string })[];
  readonly commands: readonly Outline[];
}

/** A command's options, arguments and inner commands, those that commander adds among them. */
export function outlineOf(command: Command): Outline {
  const help = command.createHelp();
  return {
    name: command.name(),
    help: command.description(),
    options: help.visibleOptions(command).map(outlinedOption),
    arguments: command.registeredArguments.map((argument) => ({ name: argument.name(), ...expectedOf(argument) })),
    commands: help
      .visibleCommands(command)
      .filter((each) => each.name() !== 'help')
      .map(outlineOf),
  };
}

/** A command and all within it, each with the names that lead to it. */
export function walk(outline: Outline, path: readonly string[] = []): { path: readonly string[]; outline: Outline }[] {
  const inner = outline.commands.flatMap((each) => walk(each, [...path, each.name]));
  return [{ path, outline }, ...inner];
}

function outlinedOption(option: Option): OutlinedOption {
  const { short = null, long, description } = option;
  const takesValue = option.required || option.optional;
  return { short, long: long as string, help: description, value: takesValue ? expectedOf(option) : null };
}

/** By the choices, else by how the help calls the value: `<file>`, `<directory>`, `<path>`. */
function expectedOf(of: Option | Argument): Value {
  const placeholder = 'flags' in of ? (/[<[](.*)[>\]]/.exec(of.flags)?.[1] ?? '') : `${of.name()} ${of.description}`;
  if (of.argChoices) return { words: of.argChoices, paths: null };
  const words = of instanceof OfferingOption ? of.offers : [];
  if (/file|path|summary\.json/.test(placeholder)) return { words, paths: 'files' };
  return { words, paths: /director/.test(placeholder) ? 'directories' : null };
}
