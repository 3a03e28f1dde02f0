import { Command } from 'commander';
import { addOptions, type OptionTable } from './option-table.ts';
import { collect, positiveWhole, wholeNumber } from './option-values.ts';
import type { Terminal } from './terminal.ts';

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

const table: OptionTable<CalibrateOptions> = {
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
    help: 'concurrency levels to fit, separated by commas; all others are held out and foretold (default: 8,64,256, or the lowest, middle and highest)',
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

/** `tritune calibrate TABLE`: how a server's figures come about, and an emulator profile that behaves like it. */
export function calibrateCommand(terminal: Terminal): Command {
  const command = new Command('calibrate')
    .description('fit the queueing model to a table of results, foretell its other rows, and write an emulator profile')
    .argument('<table>', 'CSV of offline and online rows, results.csv of a run, or of perf_analyzer');
  return addOptions(command, table).action(async (file: string, options: CalibrateOptions) => {
    const { runCalibrate } = await import('./run-calibrate.ts');
    await runCalibrate(file, options, terminal);
  });
}
