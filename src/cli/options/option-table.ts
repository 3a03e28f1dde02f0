import { type Command, InvalidArgumentError, Option } from 'commander';
import { isTrituneError } from '../../base/errors.ts';

/** One option of a command: how it is written, what it means, and how its text becomes a value. */
export interface OptionRow<T> {
  readonly flags: string;
  readonly help: string;
  readonly parse?: (text: string, previous: T | undefined) => T;
  readonly choices?: readonly string[];
  /** Words that a shell completes where others may be given too, such as the path of a file. */
  readonly offers?: readonly string[];
  readonly default?: T;
  readonly required?: boolean;
}

/** An option that knows what a shell may offer for its value. */
export class OfferingOption extends Option {
  offers: readonly string[] = [];
}

/** A row for every field of the command's options; the compiler finds a missing one. */
export type OptionTable<O> = { readonly [K in keyof O]-?: OptionRow<Exclude<O[K], undefined>> };

/** Adds the table's options to the command. The long flag in camelCase must be the row's key. */
export function addOptions<O>(command: Command, table: OptionTable<O>): Command {
  for (const [key, row] of Object.entries(table) as [string, OptionRow<unknown>][]) {
    const option = new OfferingOption(row.flags, row.help);
    option.offers = row.offers ?? [];
    if (option.attributeName() !== key) throw new Error(`option '${row.flags}' does not belong to '${key}'`);
    if (row.choices) option.choices(row.choices);
    if (row.parse) option.argParser(explainFaults(row.parse));
    if (row.default !== undefined) option.default(row.default);
    if (row.required) option.makeOptionMandatory();
    command.addOption(option);
  }
  return command;
}

function explainFaults<T>(parse: (text: string, previous: T | undefined) => T) {
  return (text: string, previous: T | undefined): T => {
    try {
      return parse(text, previous);
    } catch (error) {
      if (isTrituneError(error)) throw new InvalidArgumentError(`${error.message} (${error.hint})`);
      throw error;
    }
  };
}
