import { RE2JS } from 're2js';
import { TrituneError } from '#base/errors.ts';
import type { TextPattern } from '#workload/log-tally.ts';
import type { OptionTable } from '../options/option-table.ts';
import { durationSeconds, positiveNumber, positiveWhole, share, wholeNumber } from '../options/option-values.ts';

/** Scales a workload, and seeds its random parts. */
export interface PlanFlags {
  readonly rate?: number;
  readonly timeScale?: number;
  readonly mostSeconds?: number;
  readonly seed: number;
}

export interface ShowOptions extends PlanFlags {
  readonly json: boolean;
}

export interface WriteOptions {
  readonly output: string;
  readonly force: boolean;
}

export interface FromLogOptions extends WriteOptions {
  readonly name?: string;
  readonly match?: TextPattern;
  readonly classes: number;
  readonly timeColumn?: string;
  readonly classColumn?: string;
}

export interface SplitOptions extends WriteOptions {
  readonly holdout: number;
  readonly block?: number;
  readonly seed: number;
}

const seed = { flags: '--seed <n>', help: 'Seed of the random numbers', parse: wholeNumber, default: 1 };
const output = (help: string) => ({ flags: '-o, --output <file>', help, required: true });
const force = { flags: '--force', help: 'Overwrite existing files', default: false };

export const showTable: OptionTable<ShowOptions> = {
  rate: { flags: '--rate <n>', help: 'Scale to this mean rate, in requests per second', parse: positiveNumber },
  timeScale: {
    flags: '--time-scale <n>',
    help: 'Multiply durations, at the same rates; 0.1 turns an hour into six minutes',
    parse: positiveNumber,
  },
  mostSeconds: {
    flags: '--most-seconds <n>',
    help: 'Scale a longer workload down to this duration, in s',
    parse: durationSeconds,
  },
  seed,
  json: { flags: '--json', help: 'Print one JSON object instead of a drawing', default: false },
};

export const fromLogTable: OptionTable<FromLogOptions> = {
  output: output('Workload file to write; its trace is written next to it as CSV'),
  name: { flags: '--name <name>', help: "Name of the workload (default: the file's name)" },
  match: {
    flags: '--match <regex>',
    help: 'Use only requests whose path or model matches this regular expression',
    parse: regularExpression,
  },
  classes: {
    flags: '--classes <n>',
    help: "Largest number of classes; the rarest are merged as 'other'",
    parse: positiveWhole,
    default: 8,
  },
  timeColumn: { flags: '--time-column <name>', help: 'CSV column or JSON field with the time' },
  classColumn: {
    flags: '--class-column <name>',
    help: 'CSV column or JSON field with the class: a path, a model or a name',
  },
  force,
};

export const splitTable: OptionTable<SplitOptions> = {
  output: output('Name of the parts: NAME.yaml writes NAME-train.yaml and NAME-holdout.yaml'),
  holdout: { flags: '--holdout <share>', help: 'Share of the time to hold out, 0 to 1', parse: share, default: 0.5 },
  block: {
    flags: '--block <duration>',
    help: 'Length of the blocks to split by, such as 10m (default: a twentieth of the trace)',
    parse: durationSeconds,
  },
  seed,
  force,
};

/**
 * RE2 takes linear time for any pattern and text; a log may come from elsewhere, and so may the
 * pattern.
 */
function regularExpression(text: string): TextPattern {
  try {
    return RE2JS.compile(text);
  } catch {
    const hint = "write for example '^/v2/models/resnet/', without (?=…), (?<…) and \\1";
    throw new TrituneError('USAGE', `'${text}' is not a regular expression`, hint);
  }
}
