import type { OptionTable } from '../../options/option-table.ts';
import { collect, positiveWhole, wholeNumber } from '../../options/option-values.ts';

/** The options of `tritune calibrate`, parsed. */
export interface CalibrateOptions {
  readonly config: string;
  readonly output?: string;
  readonly select?: readonly string[];
  readonly fit?: readonly number[];
  readonly clientBatch: number;
  readonly instances?: number;
  readonly name?: string;
}

export const calibrateOptionTable: OptionTable<CalibrateOptions> = {
  config: {
    flags: '-c, --config <file>',
    help: "the model's config.pbtxt that the table was measured with",
    required: true,
  },
  output: { flags: '-o, --output <file>', help: 'write an emulator profile of the server' },
  select: {
    flags: '--select <column=value>',
    help: 'keep the set-ups of the table with this value, such as gpu=t4 or trial=3; repeatable',
    parse: collect,
  },
  fit: {
    flags: '--fit <levels>',
    help: 'concurrency levels to fit, separated by commas; all others are held out and predicted (default: 8,64,256, or the lowest, middle and highest)',
    parse: (text) => text.split(',').map(wholeNumber),
  },
  clientBatch: {
    flags: '-b, --client-batch <n>',
    help: 'samples per request, where the table does not say',
    parse: positiveWhole,
    default: 1,
  },
  instances: { flags: '--instances <n>', help: 'where neither table nor config says', parse: positiveWhole },
  name: { flags: '--name <name>', help: "the profile's name (default: that of the output file)" },
};
