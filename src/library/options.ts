import { TrituneError } from '../base/errors.ts';
import { type TuneOptions as CommandOptions, tuneOptionTable } from '../cli/tune-options.ts';

/** What only a command line has: a screen, a plan on paper, stack traces, a file of Model Analyzer's. */
type OfTheCommand = 'ui' | 'dryRun' | 'verbose' | 'modelAnalyzer';

/**
 * The options of `tritune tune`, under the same names in camelCase, as values in place of texts: `latencyBudget` is in
 * milliseconds, `timeBudget` in seconds, ranges are `{ low, high }`. What is not given is as on the command line; every
 * study needs a `model`, or a directory to `resume`.
 */
export type TuneOptions = { readonly [K in Exclude<keyof CommandOptions, OfTheCommand>]?: CommandOptions[K] };

/** All that the command has, and which of them the caller named. Errors: USAGE for an option or a choice that there is none of. */
export function completeOptions(given: TuneOptions): {
  readonly options: CommandOptions;
  readonly named: ReadonlySet<keyof TuneOptions>;
} {
  const named = Object.entries(given).filter(([, value]) => value !== undefined);
  for (const [name, value] of named) check(name, value);
  const defaults = Object.entries(tuneOptionTable).flatMap(([name, row]) =>
    row.default === undefined ? [] : [[name, row.default] as const],
  );
  const options = { ...Object.fromEntries(defaults), ...Object.fromEntries(named), ui: 'none' };
  return {
    options: options as unknown as CommandOptions,
    named: new Set(named.map(([name]) => name as keyof TuneOptions)),
  };
}

const commandOnly: Readonly<Record<OfTheCommand, true>> = {
  ...{ ui: true, dryRun: true, verbose: true, modelAnalyzer: true },
};

/** A program without types finds out here. */
function check(name: string, value: unknown): void {
  const row = name in commandOnly ? undefined : tuneOptionTable[name as keyof typeof tuneOptionTable];
  if (!Object.hasOwn(tuneOptionTable, name) || !row) {
    throw new TrituneError('USAGE', `tune() has no option '${name}'`, 'its options are those of docs/library.md');
  }
  if (row.choices && !row.choices.includes(String(value))) {
    throw new TrituneError('USAGE', `'${String(value)}' is no ${name}`, `choose one of ${row.choices.join(', ')}`);
  }
}
