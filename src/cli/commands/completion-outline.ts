import type { Argument, Command, Option } from 'commander';
import { OfferingOption } from '../options/option-table.ts';

/**
 * The possible values of an option or argument: some words, files, directories, words or files, or
 * free text.
 */
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

/** A command's outline for completion. */
export interface Outline {
  readonly name: string;
  readonly help: string;
  readonly options: readonly OutlinedOption[];
  readonly arguments: readonly (Value & { readonly name: string })[];
  readonly commands: readonly Outline[];
}

/**
 * Returns a command's options, arguments and inner commands, including those that commander adds.
 */
export function outlineCommand(command: Command): Outline {
  const help = command.createHelp();
  return {
    name: command.name(),
    help: command.description(),
    options: help.visibleOptions(command).map(outlinedOption),
    arguments: command.registeredArguments.map((argument) => ({ name: argument.name(), ...toExpected(argument) })),
    commands: help
      .visibleCommands(command)
      .filter((each) => each.name() !== 'help')
      .map(outlineCommand),
  };
}

/** Returns a command and all commands within it, each with its path of names. */
export function walk(outline: Outline, path: readonly string[] = []): { path: readonly string[]; outline: Outline }[] {
  const inner = outline.commands.flatMap((each) => walk(each, [...path, each.name]));
  return [{ path, outline }, ...inner];
}

function outlinedOption(option: Option): OutlinedOption {
  const { short = null, long, description } = option;
  const takesValue = option.required || option.optional;
  return { short, long: long as string, help: description, value: takesValue ? toExpected(option) : null };
}

/** Uses the choices, else the help's name of the value: `<file>`, `<directory>`, `<path>`. */
function toExpected(of: Option | Argument): Value {
  const placeholder = 'flags' in of ? (/[<[](.*)[>\]]/.exec(of.flags)?.[1] ?? '') : `${of.name()} ${of.description}`;
  if (of.argChoices) return { words: of.argChoices, paths: null };
  const offers = of instanceof OfferingOption ? of.offers : [];
  const words = typeof offers === 'function' ? offers() : offers;
  if (/file|path|summary\.json/.test(placeholder)) return { words, paths: 'files' };
  return { words, paths: /director/.test(placeholder) ? 'directories' : null };
}
