import { safeName } from '../../../app/output/directory.ts';
import { writeScenarioFiles } from '../../../app/profile/documents.ts';
import { TrituneError } from '../../../base/errors.ts';
import { markdownTable, type ScenarioRow, scenarioFiles } from '../../../report/scenario-tables.ts';
import { instancesOf } from '../../../triton/config/instances.ts';
import type { ModelConfig } from '../../../triton/config/model-config.ts';
import { type ProfileRun, profileLevels } from './levels.ts';
import type { ProfileOptions } from './options.ts';

const DEFAULT_CONCURRENCIES = { low: 8, high: 256 };
const ONE_CLIENT = 1;

/**
 * Offline: one client with one batch size after the other, as for jobs that nobody waits for. Online: one batch size with
 * ever more clients. Prints the table and writes it with its plots to the output directory. Errors: as `profileLevels`.
 */
export async function runScenario(run: ProfileRun, scenario: 'offline' | 'online'): Promise<void> {
  const rows: ScenarioRow[] = [];
  let config: ModelConfig | null = null;
  try {
    if (scenario === 'online') {
      const concurrencies = doubling(run.options.concurrencies ?? DEFAULT_CONCURRENCIES);
      config = await measureInto(rows, run, run.options.batch, concurrencies);
    } else {
      for (const batch of await batchesOf(run)) config = await measureInto(rows, run, batch, [ONE_CLIENT]);
    }
  } finally {
    if (config && rows.length > 0) await present(run, scenario, rows, config);
  }
}

async function measureInto(
  rows: ScenarioRow[],
  run: ProfileRun,
  batch: number,
  concurrencies: readonly number[],
): Promise<ModelConfig> {
  const before = run.reports.length;
  try {
    return await profileLevels({ ...run, options: { ...run.options, batch } }, async (measure) => {
      for (const concurrency of concurrencies) await measure(concurrency);
    });
  } finally {
    rows.push(...run.reports.slice(before).map((report) => ({ batch, report })));
  }
}

/** LOW, and its doubles up to HIGH, which is always among them. */
function doubling({ low, high }: { readonly low: number; readonly high: number }): readonly number[] {
  const values: number[] = [];
  for (let value = low; value < high; value *= 2) values.push(value);
  return [...values, high];
}

async function batchesOf({ opened, model, options }: ProfileRun): Promise<readonly number[]> {
  const { max_batch_size: most = 0 } = await opened.client.modelConfig(model);
  if (options.batchSizes === undefined) return doubling({ low: 1, high: Math.max(most, 1) });
  const tooLarge = options.batchSizes.find((batch) => batch > Math.max(most, 1));
  if (tooLarge === undefined) return options.batchSizes;
  throw new TrituneError('USAGE', `'${model}' takes no batch of ${tooLarge}`, `its max_batch_size is ${most}`);
}

async function present(
  { options, model, terminal }: ProfileRun,
  scenario: 'offline' | 'online',
  rows: readonly ScenarioRow[],
  config: ModelConfig,
): Promise<void> {
  for (const line of ['', ...markdownTable(rows)]) terminal.print(line);
  const directory = options.output ?? `${safeName(model)}-${scenario}`;
  const files = scenarioFiles(rows, {
    scenario,
    device: config.instance_group?.some(({ kind }) => kind === 'KIND_CPU') ? 'cpu' : 'gpu',
    backend: String(config.backend || config.platform || ''),
    dataset: datasetOf(options),
    instances: instancesOf(config),
  });
  await writeScenarioFiles(directory, files);
  terminal.print('');
  for (const { name } of files) terminal.print(`${directory}/${name}`);
}

const datasetOf = ({ inputData = ['random'] }: ProfileOptions): string => inputData.join(' ');
