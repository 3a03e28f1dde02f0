import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { type HeldOutSeries, predictSeries } from '#app/series-law.ts';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { listed } from '#base/format.ts';
import { fileLimits, readText } from '#base/read-file.ts';
import { NS_PER_US, nsToMs } from '#base/units.ts';
import { calibratedProfile } from '#emulator/profile/calibrated-profile.ts';
import { joinedSetUps, readResultTable } from '#emulator/profile/result-table.ts';
import { type LabelledSeries, readTokenTable } from '#emulator/profile/token-table.ts';
import { toPolicy } from '#queueing/batcher-policy.ts';
import { levelsToFit, outerAndMiddle, predictHeldOut } from '#queueing/calibration/held-out.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { parseConfigText } from '#triton/config/parser.ts';
import type { Terminal } from '../terminal.ts';
import type { CalibrateOptions } from './calibrate-options.ts';
import { configOfTable, selected, toConfig } from './calibrate-set-ups.ts';
import { aligned, describeSetUp, describeSource, figure, formatTable, percent } from './calibrate-tables.ts';

/** Returns the fitted figures of a language model, then measured and predicted ones by row. */
function formatSeries(series: LabelledSeries, { fitted, rows, medianMiss }: HeldOutSeries): string[] {
  const { law, policy } = fitted;
  const cells = rows.map(({ row, predicted, isUsed }) => [
    `${row.concurrency}`,
    ...(['ttftMs', 'tpotMs'] as const).flatMap((name) => [
      figure(row[name]),
      figure(predicted[name]),
      percent(predicted[name] / row[name] - 1),
    ]),
    isUsed ? 'fitted' : '',
  ]);
  return [
    `${describeSeries(series)}: fitted to ${rows.filter(({ isUsed }) => isUsed).length} rows`,
    `  a step: ${figure(nsToMs(law.baseNs))} ms + at least ${figure(nsToMs(law.floorNs))} ms, ` +
      `${figure(law.perDecodingNs / NS_PER_US)} µs for each sequence, ${figure(law.perPrefillTokenNs / NS_PER_US)} µs for each token of a prompt`,
    ...(policy.kvCacheTokens === null
      ? []
      : [
          `  the KV cache has no place for all sequences at the highest concurrency: about ${policy.kvCacheTokens.toLocaleString('en')} tokens. ` +
            'Beyond that TTFT is the wait for a place, and depends on how many requests the benchmark sent',
        ]),
    ...aligned([['clients', 'TTFT ms', 'predicted', 'off by', 'TPOT ms', 'predicted', 'off by', ''], ...cells]),
    ...(medianMiss
      ? [`  rows held out: median error ${percent(medianMiss.ttft)} in TTFT, ${percent(medianMiss.tpot)} in TPOT`]
      : []),
  ];
}

/** `vllm, h100_sxm, 1024, 1024`. */
const describeSeries = ({ labels }: LabelledSeries): string => Object.values(labels).join(', ') || 'the table';

/**
 * Calibrates every set-up of the tables, prints the results, and writes the profile. Errors:
 * INPUT_INVALID, USAGE, OUTPUT_UNWRITABLE.
 */
export async function runCalibrate(
  files: readonly string[],
  options: CalibrateOptions,
  terminal: Terminal,
): Promise<void> {
  const texts = new Map<string, string>();
  for (const file of files) texts.set(file, await readTableText(file));
  const tokenTables = [...texts.values()].map(readTokenTable);
  const series = tokenTables.flatMap((table) => table ?? []);
  if (tokenTables.includes(null) && series.length > 0) {
    throw new TrituneError(
      'INPUT_INVALID',
      'some of these tables are of language models, and others are not',
      'calibrate them one after another',
    );
  }
  if (series.length > 0) return calibrateSeries(series, files, options, terminal);
  const base = options.config === undefined ? null : await readConfig(options.config);
  const read = [...texts].flatMap(([file, text]) => readResultTable(text, file, options.clientBatch));
  const setUps = selected(joinedSetUps(read), options.select ?? []);
  const name = toProfileName(files, options);
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

/** The most series that a profile's description names. */
const MAX_DESCRIBED = 3;

/** The same for language models. Errors: INPUT_INVALID, USAGE, OUTPUT_UNWRITABLE. */
async function calibrateSeries(
  all: readonly LabelledSeries[],
  files: readonly string[],
  options: CalibrateOptions,
  terminal: Terminal,
): Promise<void> {
  const unused = options.config === undefined ? (options.instances === undefined ? null : '--instances') : '--config';
  if (unused !== null) {
    throw new TrituneError('USAGE', `a table of a language model has no use for ${unused}`, 'leave it out');
  }
  const fits = selected(all, options.select ?? []).map((series) => {
    terminal.status(`calibrating ${describeSeries(series)}`);
    const levels = options.fit ?? outerAndMiddle(series.rows.map(({ concurrency }) => concurrency));
    if (!series.rows.some(({ concurrency }) => levels.includes(concurrency))) {
      throw new TrituneError(
        'INPUT_INVALID',
        `${describeSeries(series)} has no rows with ${levels.join(', ')} clients`,
        `choose --fit from ${series.rows.map(({ concurrency }) => concurrency).join(', ')}`,
      );
    }
    const heldOut = predictSeries(series, levels);
    terminal.status(null);
    for (const line of formatSeries(series, heldOut)) terminal.print(line);
    return { series, heldOut };
  });
  if (options.output === undefined) return;
  const name = toProfileName(files, options);
  const described =
    fits.length > MAX_DESCRIBED ? `${fits.length} series` : fits.map(({ series }) => describeSeries(series)).join('; ');
  const text = calibratedProfile(
    {
      name,
      description: `Emulates engines of language models, as published or recorded results have them: ${described}.`,
      source: `Calibrated from ${listed(files.map((file) => basename(file)))}.`,
      gpu: 'GPU',
    },
    fits.map(({ series, heldOut: { fitted } }, index) => {
      const { roundTripNs, isStatic: _, ...law } = fitted.law;
      return {
        name: fits.length === 1 ? name : `${name}_${index + 1}`,
        law,
        roundTripNs,
        policy: fitted.policy,
        series,
      };
    }),
  );
  await write(options.output, text);
  terminal.print(options.output);
}

const toProfileName = (files: readonly string[], { name, output }: CalibrateOptions): string =>
  name ?? basename(output ?? files[0] ?? 'model').replace(/\.[a-z]+$/, '');

const readConfig = async (file: string): Promise<ModelConfig> =>
  parseConfigText(await readTableText(file), file).config;

export async function readTableText(file: string): Promise<string> {
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
