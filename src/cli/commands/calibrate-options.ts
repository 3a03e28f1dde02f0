import type { OptionTable } from '../options/option-table.ts';
import { collect, positiveWhole, wholeNumber } from '../options/option-values.ts';

/** The options of `tritune calibrate`, parsed. */
export interface CalibrateOptions {
  readonly config?: string;
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
    help: 'The config.pbtxt that the table was measured with (default: the batching that the table states)',
  },
  output: { flags: '-o, --output <file>', help: 'File for the emulator profile' },
  select: {
    flags: '--select <column=value>',
    help: 'Use only rows with this value, such as gpu=t4 or trial=3; repeatable',
    parse: collect,
  },
  fit: {
    flags: '--fit <levels>',
    help: 'Concurrency levels to fit; the others are predicted (default: 8,64,256, or the lowest, middle and highest)',
    parse: (text) => text.split(',').map(wholeNumber),
  },
  clientBatch: {
    flags: '-b, --client-batch <n>',
    help: 'Samples in one request, unless the table says',
    parse: positiveWhole,
    default: 1,
  },
  instances: {
    flags: '--instances <n>',
    help: 'Number of instances, unless the table or the config says',
    parse: positiveWhole,
  },
  name: { flags: '--name <name>', help: 'Name of the profile (default: the name of the output file)' },
};
