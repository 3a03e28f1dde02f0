import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { formatMessage, TrituneError } from '../../../base/errors.ts';
import { listed } from '../../../base/format.ts';
import { fileLimits, readText } from '../../../base/read-file.ts';
import { calibratedProfile } from '../../../emulator/profile/calibrated-profile.ts';
import { joinedSetUps, readResultTable, type SetUp } from '../../../emulator/profile/result-table.ts';
import { toPolicy } from '../../../queueing/batcher-policy.ts';
import { levelsToFit, predictHeldOut } from '../../../queueing/calibration/held-out.ts';
import type { ModelConfig } from '../../../triton/config/model-config.ts';
import { parseConfigText } from '../../../triton/config/parser.ts';
import type { Terminal } from '../../terminal.ts';
import type { CalibrateOptions } from './options.ts';
import { configOfTable, selected, toConfig } from './set-ups.ts';
import { describeSetUp, describeSource, formatTable } from './tables.ts';

/**
 * Calibrates every set-up of the tables, prints the results, and writes the profile. Errors:
 * INPUT_INVALID, USAGE, OUTPUT_UNWRITABLE.
 */
export async function runCalibrate(
  files: readonly string[],
  options: CalibrateOptions,
  terminal: Terminal,
): Promise<void> {
  const base = options.config === undefined ? null : await readConfig(options.config);
  const read: SetUp[] = [];
  for (const file of files) read.push(...readResultTable(await readTableText(file), file, options.clientBatch));
  const setUps = selected(joinedSetUps(read), options.select ?? []);
  const name = options.name ?? basename(options.output ?? files[0] ?? 'model').replace(/\.[a-z]+$/, '');
  const fits = setUps.map((setUp) => {
    terminal.status(`calibrating ${describeSetUp(setUp)}`);
    const { config, instances } = toConfig(base ?? configOfTable(setUp, name), setUp, setUps, options.instances);
    const heldOut = predictHeldOut(setUp.rows, toPolicy(config, instances), options.fit ?? levelsToFit(setUp.rows));
    terminal.status(null);
    for (const line of formatTable(setUp, heldOut)) terminal.print(line);
    return { setUp, heldOut, config };
  });
  if (options.output === undefined) return;
  const text = calibratedProfile(
    {
      name,
      description: `Emulates ${fits.map(({ setUp }) => describeSetUp(setUp)).join('; ')}, as its published or recorded results have it.`,
      source: `Calibrated from ${listed(files.map((file) => basename(file)))}. ${fits.map(describeSource).join(' ')}`,
      gpu: [...new Set(setUps.map(({ labels }) => labels.gpu?.toUpperCase() ?? 'GPU'))].join(', '),
    },
    fits.map(({ config, heldOut }) => ({ config, server: heldOut.calibration.server })),
  );
  await write(options.output, text);
  terminal.print(options.output);
}

const readConfig = async (file: string): Promise<ModelConfig> =>
  parseConfigText(await readTableText(file), file).config;

async function readTableText(file: string): Promise<string> {
  try {
    return await readText(file, fileLimits.results);
  } catch (error) {
    throw new TrituneError('INPUT_INVALID', `cannot read ${file}: ${formatMessage(error)}`, 'check the path');
  }
}

async function write(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text);
  } catch (error) {
    throw new TrituneError('OUTPUT_UNWRITABLE', `cannot write ${file}: ${formatMessage(error)}`, 'choose another path');
  }
}
