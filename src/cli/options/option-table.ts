import { type Command, InvalidArgumentError, Option } from 'commander';
import { isTrituneError } from '#base/errors.ts';
import { type Heading, headings } from './headings.ts';

/** One option of a command: its flags, its meaning, and its parser. */
export interface OptionRow<T> {
  readonly flags: string;
  readonly help: string;
  readonly parse?: (text: string, previous: T | undefined) => T;
  readonly choices?: readonly string[];
  /**
   * Words that a shell completes although other values are allowed too, such as the path of a file.
   */
  readonly offers?: readonly string[] | (() => readonly string[]);
  readonly default?: T;
  readonly required?: boolean;
  /** The heading of the option in the help. */
  readonly heading?: Heading;
  readonly otherName?: OtherName;
  /** True for another tool's spelling: it works, but the help omits it. */
  readonly isHidden?: boolean;
}

/**
 * Another name of an option that takes a value: the name of the same idea in other commands, or its
 * name in the release before (`isFormer`), which works once more and says the new one. `read`:
 * makes its value one of the option.
 */
interface OtherName {
  readonly flags: string;
  readonly isFormer?: boolean;
  readonly read?: (text: string) => string;
}

/** Another name of an option; the help leaves it out. */
export class OtherNameOption extends Option {
  readonly now: Option;
  readonly isFormer: boolean;

  constructor({ flags, isFormer = false, read = (text) => text }: OtherName, now: Option) {
    super(flags);
    this.now = now;
    this.isFormer = isFormer;
    this.argParser((text, previous: unknown) => now.parseArg?.(read(text), previous) ?? read(text));
    this.hideHelp();
  }
}

/** An option with completions for its value. */
export class OfferingOption extends Option {
  offers: NonNullable<OptionRow<unknown>['offers']> = [];
}

/** One row for every field of the command's options; the compiler reports a missing one. */
export type OptionTable<O> = { readonly [K in keyof O]-?: OptionRow<Exclude<O[K], undefined>> };

/** Returns the table with this heading in every row without one. */
export function under<O>(heading: Heading, table: OptionTable<O>): OptionTable<O> {
  const rows = Object.entries(table) as [string, OptionRow<unknown>][];
  return Object.fromEntries(rows.map(([key, row]) => [key, { heading, ...row }])) as unknown as OptionTable<O>;
}

/**
 * Adds the table's options to the command. The help lists `mostUsed` first, in that order, and then
 * the others under their headings. The row's key must be the long flag in camelCase.
 */
export function addOptions<O>(
  command: Command,
  table: OptionTable<O>,
  mostUsed: readonly (keyof O & string)[] = [],
): Command {
  const rows = Object.entries(table) as [string, OptionRow<unknown>][];
  const first = mostUsed.map((key) => [key, { ...(table[key] as OptionRow<unknown>), heading: 'Most used' }] as const);
  const others = rows.filter(([key]) => !mostUsed.some((each) => each === key));
  for (const heading of headings) {
    for (const [key, row] of [...first, ...others]) {
      if ((row.heading ?? 'Options') !== heading) continue;
      const option = toOption(key, row).helpGroup(`${heading}:`);
      command.addOption(option);
      if (row.otherName) command.addOption(new OtherNameOption(row.otherName, option));
    }
  }
  return command;
}

function toOption(key: string, row: OptionRow<unknown>): Option {
  const option = new OfferingOption(row.flags, row.help);
  option.offers = row.offers ?? [];
  if (option.attributeName() !== key) throw new Error(`option '${row.flags}' does not belong to '${key}'`);
  if (row.choices) option.choices(row.choices);
  if (row.parse) option.argParser(explainFaults(row.parse));
  if (row.default !== undefined) option.default(row.default);
  if (row.required) option.makeOptionMandatory();
  return option.hideHelp(row.isHidden === true);
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
