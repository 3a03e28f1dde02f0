import { TrituneError } from '../../../base/errors.ts';
import type { OptionTable } from '../../options/option-table.ts';
import { durationSeconds, positiveNumber, positiveWhole, share, wholeNumber } from '../../options/option-values.ts';

/** Scales a workload, and draws what is random in it. */
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
  readonly match?: RegExp;
  readonly classes: number;
  readonly timeColumn?: string;
  readonly classColumn?: string;
}

export interface SplitOptions extends WriteOptions {
  readonly holdout: number;
  readonly block?: number;
  readonly seed: number;
}

const seed = { flags: '--seed <n>', help: 'seed of everything random', parse: wholeNumber, default: 1 };
const output = (help: string) => ({ flags: '-o, --output <file>', help, required: true });
const force = { flags: '--force', help: 'write over files that are there', default: false };

export const showTable: OptionTable<ShowOptions> = {
  rate: { flags: '--rate <n>', help: 'scale to this mean of requests per second', parse: positiveNumber },
  timeScale: {
    flags: '--time-scale <n>',
    help: 'durations times this, rates as they are: 0.1 makes an hour six minutes',
    parse: positiveNumber,
  },
  mostSeconds: {
    flags: '--most-seconds <n>',
    help: 'shorten what is longer to this, by the time scale',
    parse: durationSeconds,
  },
  seed,
  json: { flags: '--json', help: 'one JSON object instead of a drawing', default: false },
};

export const fromLogTable: OptionTable<FromLogOptions> = {
  output: output('the workload file; its trace goes beside it as CSV'),
  name: { flags: '--name <name>', help: "the workload's name; that of the file if not given" },
  match: {
    flags: '--match <regex>',
    help: 'only requests whose path, or model, matches this regular expression',
    parse: regularExpression,
  },
  classes: {
    flags: '--classes <n>',
    help: "classes at most; the rarest are put together as 'other'",
    parse: positiveWhole,
    default: 8,
  },
  timeColumn: { flags: '--time-column <name>', help: 'column of CSV, or field of JSON lines, with the time' },
  classColumn: { flags: '--class-column <name>', help: 'column or field that says the class: a path, a model, a name' },
  force,
};

export const splitTable: OptionTable<SplitOptions> = {
  output: output('NAME.yaml: the parts are written as NAME-train.yaml and NAME-holdout.yaml'),
  holdout: { flags: '--holdout <share>', help: 'share of the time that is held out', parse: share, default: 0.5 },
  block: {
    flags: '--block <duration>',
    help: 'time that stays together; a twentieth of the trace if not given',
    parse: durationSeconds,
  },
  seed,
  force,
};

function regularExpression(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch {
    throw new TrituneError('USAGE', `'${text}' is no regular expression`, "for example '^/v2/models/resnet/'");
  }
}
