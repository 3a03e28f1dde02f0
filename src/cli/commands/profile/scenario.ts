import { openRenderer, writeScenarioFiles } from '#app/profile/documents.ts';
import { readGpuName, UNKNOWN_GPU } from '#app/profile/gpu-name.ts';
import { scenarioParameters } from '#app/profile/scenario-parameters.ts';
import { openTensors } from '#app/profile/tensor-service.ts';
import { safeName } from '#app/run-directory.ts';
import type { OpenServer } from '#app/server/open-server.ts';
import { TrituneError } from '#base/errors.ts';
import type { SweepRange } from '#profiler/sweep.ts';
import type { Scenario, ScenarioCase, ScenarioRow } from '#report/scenario-case.ts';
import { scenarioFiles } from '#report/scenario-files.ts';
import { parameterLines, resultLines } from '#report/scenario-tables.ts';
import { countInstances } from '#triton/config/instances.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { type LevelRun, measureLevels } from './levels.ts';
import type { ProfileOptions } from './options.ts';

interface ScenarioRun extends LevelRun {
  readonly triton: OpenServer;
  readonly model: string;
}

/** The concurrencies of published tables. */
const DEFAULT_CONCURRENCIES = { low: 8, high: 256, step: 8 };
const ONE_CLIENT = 1;

/**
 * Offline: one client with one batch size after another, as for jobs without waiting users. Online:
 * one batch size with more and more clients. Prints the tables, and writes them with their plots to
 * the output directory. Errors: USAGE for a label without a value; as `measureLevels`.
 */
export async function runScenario(levels: LevelRun, triton: OpenServer, scenario: Scenario): Promise<void> {
  const { model } = levels.options;
  if (model === undefined) throw new TrituneError('USAGE', 'the model is missing', 'add -m MODEL');
  const run: ScenarioRun = { ...levels, triton, model };
  const labels = toLabels(run.options);
  const config = await triton.client.modelConfig(model);
  const rows: ScenarioRow[] = [];
  try {
    if (scenario === 'online') {
      await measureInto(rows, run, run.options.batch, listConcurrencies(run.options));
    } else {
      for (const batch of listBatches(run, config)) await measureInto(rows, run, batch, [ONE_CLIENT]);
    }
  } finally {
    if (rows.length > 0) await present(run, rows, await toCase(run, scenario, config, rows, labels));
  }
}

/** Shared memory must have room for the maximum ever in flight. */
async function measureInto(
  rows: ScenarioRow[],
  run: ScenarioRun,
  batch: number,
  concurrencies: readonly number[],
): Promise<void> {
  const before = run.reports.length;
  const range: SweepRange = { start: concurrencies[0] ?? 1, end: concurrencies.at(-1) ?? 1, step: 1 };
  const plan = { ...run.plan, sweep: { ...run.plan.sweep, range } };
  try {
    const options = { ...run.options, batch };
    const target = await run.open(() => openTensors(run.triton, run.model, options, plan, run));
    await measureLevels({ ...run, plan, options }, target, async (measure) => {
      for (const concurrency of concurrencies) await measure(concurrency);
    });
  } finally {
    rows.push(...run.reports.slice(before).map((report) => ({ batch, report })));
  }
}

function listConcurrencies({ concurrencies = DEFAULT_CONCURRENCIES }: ProfileOptions): readonly number[] {
  const { low, high, step } = concurrencies;
  if (step === undefined) return doubling(concurrencies);
  return Array.from({ length: Math.floor((high - low) / step) + 1 }, (_, index) => low + index * step);
}

/** Returns LOW and its doubles up to HIGH, which is always included. */
function doubling({ low, high }: { readonly low: number; readonly high: number }): readonly number[] {
  const values: number[] = [];
  for (let value = low; value < high; value *= 2) values.push(value);
  return [...values, high];
}

function listBatches({ model, options }: ScenarioRun, { max_batch_size: most = 0 }: ModelConfig): readonly number[] {
  if (options.batchSizes === undefined) return doubling({ low: 1, high: Math.max(most, 1) });
  const tooLarge = options.batchSizes.find((batch) => batch > Math.max(most, 1));
  if (tooLarge === undefined) return options.batchSizes;
  throw new TrituneError(
    'USAGE',
    `'${model}' does not accept a batch of ${tooLarge}`,
    `give --batch-sizes of at most ${most}, its max_batch_size`,
  );
}

function toLabels({ label = [] }: ProfileOptions): Readonly<Record<string, string>> {
  return Object.fromEntries(
    label.map((text) => {
      const [, name, value] = /^\s*([^=]+?)\s*=\s*(.+?)\s*$/s.exec(text) ?? [];
      if (name !== undefined && value !== undefined) return [name, value];
      throw new TrituneError('USAGE', `'${text}' is not NAME=VALUE`, 'write for example --label Precision=FP16');
    }),
  );
}

async function toCase(
  { triton, options }: ScenarioRun,
  scenario: Scenario,
  config: ModelConfig,
  rows: readonly ScenarioRow[],
  labels: Readonly<Record<string, string>>,
): Promise<ScenarioCase> {
  const gpu = labels.GPU ?? (await readGpuName(triton, config, rows.at(-1)?.report.measurement));
  const dataset = (options.inputData ?? ['random']).join(' ');
  const parameters = scenarioParameters({
    config,
    gpu,
    dataset,
    protocol: options.protocol,
    sharedMemory: options.sharedMemory === 'none' ? null : (options.sharedMemory ?? null),
    requestCount: findRequestCount(options),
    server: `${triton.server.name} ${triton.server.version}`,
    labels,
  });
  const backend = String(config.backend || config.platform || '');
  return { scenario, gpu: gpu ?? 'cpu', backend, dataset, instances: countInstances(config), parameters };
}

const findRequestCount = ({ requestCount, measurementMode, measurementRequestCount }: ProfileOptions): number | null =>
  requestCount ?? (measurementMode === 'count_windows' ? (measurementRequestCount ?? null) : null);

async function present(
  { options, model, terminal }: ScenarioRun,
  rows: readonly ScenarioRow[],
  common: ScenarioCase,
): Promise<void> {
  for (const line of ['', ...parameterLines(common), '', ...resultLines(rows)]) terminal.print(line);
  const directory = options.output ?? `${safeName(model)}-${common.scenario}`;
  const files = scenarioFiles(rows, common, await openRenderer(terminal.tell));
  await writeScenarioFiles(directory, files);
  terminal.print('');
  for (const { name } of files) terminal.print(`${directory}/${name}`);
  if (common.gpu === UNKNOWN_GPU) terminal.tell("the GPU's name is not known here: give it with --label GPU=NAME");
}

/**
 * Returns null, after a message, if PNG files cannot be written; the SVG files show the same
 * charts.
 */
