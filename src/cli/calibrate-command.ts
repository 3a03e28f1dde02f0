import { readFile, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { Command } from 'commander';
import { messageOf, TrituneError } from '../base/errors.ts';
import { calibratedProfile } from '../emulator/calibrated-profile.ts';
import { readResultTable } from '../emulator/result-table.ts';
import { policyOf } from '../queueing/batcher-policy.ts';
import { foretellHeldOut, levelsToFit } from '../queueing/held-out.ts';
import { parseConfigText } from '../triton/config-parser.ts';
import { configOf, selected } from './calibrate-set-ups.ts';
import { describeSetUp, sourceOf, tableOf } from './calibrate-tables.ts';
import { addOptions, type OptionTable } from './option-table.ts';
import { collect, positiveWhole, wholeNumber } from './option-values.ts';
import type { Terminal } from './terminal.ts';

interface CalibrateOptions {
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
    const base = parseConfigText(await read(options.config), options.config).config;
    const setUps = selected(readResultTable(await read(file), file, options.clientBatch), options.select ?? []);
    const fits = setUps.map((setUp) => {
      terminal.status(`calibrating ${describeSetUp(setUp)}`);
      const { config, instances } = configOf(base, setUp, setUps, options.instances);
      const heldOut = foretellHeldOut(setUp.rows, policyOf(config, instances), options.fit ?? levelsToFit(setUp.rows));
      terminal.status(null);
      for (const line of tableOf(setUp, heldOut)) terminal.print(line);
      return { setUp, heldOut, config };
    });
    if (options.output === undefined) return;
    const name = options.name ?? basename(options.output).replace(/\.ya?ml$/, '');
    const text = calibratedProfile(
      {
        name,
        description: `Emulates ${fits.map(({ setUp }) => describeSetUp(setUp)).join('; ')}, as its published or recorded results have it.`,
        source: `Calibrated from ${basename(file)}. ${fits.map(sourceOf).join(' ')}`,
        gpu: [...new Set(setUps.map(({ labels }) => labels.gpu?.toUpperCase() ?? 'GPU'))].join(', '),
      },
      fits.map(({ config, heldOut }) => ({ config, server: heldOut.calibration.server })),
    );
    await write(options.output, text);
    terminal.print(options.output);
  });
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new TrituneError('INPUT_INVALID', `cannot read ${file}: ${messageOf(error)}`, 'check the path');
  }
}

async function write(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text);
  } catch (error) {
    throw new TrituneError('OUTPUT_UNWRITABLE', `cannot write ${file}: ${messageOf(error)}`, 'name another place');
  }
}
