import { writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createControl } from '#adapter/triton/control.ts';
import { whileHeld } from '#adapter/triton/hold-model.ts';
import { checkNames, checkParts, checkProtected } from '#app/server/protect.ts';
import { realClock } from '#base/clock.ts';
import { formatMessage, isTrituneError, TrituneError } from '#base/errors.ts';
import { plainLine } from '#base/format.ts';
import { makeFolder } from '#base/make-folder.ts';
import { MS_PER_S } from '#base/units.ts';
import { type ConfigEdits, editConfig } from '#space/edits/edit-config.ts';
import { toCandidate } from '#space/model-configs.ts';
import { compareConfigs } from '#triton/config/comparison.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { printConfigText } from '#triton/config/printer.ts';
import { validateConfig } from '#triton/config/validation.ts';
import type { TritonClient } from '#triton/types.ts';
import type { Terminal } from '../terminal.ts';
import { readModelPath } from './config-model-path.ts';
import type { ConfigOptions } from './config-options.ts';
import { type ConfigStart, readConfigStart, withServer } from './config-start.ts';

/**
 * Makes the config, checks it, reports which fields changed, and prints, writes or loads it.
 * Errors: USAGE, CONFIG_INVALID for a config that Triton would refuse (which is neither written nor
 * loaded), OUTPUT_EXISTS, LOAD_REFUSED, SERVER_*.
 */
export async function runConfig(options: ConfigOptions, terminal: Terminal): Promise<void> {
  const start = await readConfigStart(options, terminal.tell);
  const config = editConfig(start.config, { ...(await pathEdits(options)), ...readEdits(options) });
  checkConfig(config, start);
  if (options.load) checkNames([options.model ?? config.name ?? ''], options);
  for (const { path, before, after } of compareConfigs(start.before, config)) {
    terminal.tell(plainLine(`${path}: ${words(before)} → ${words(after)}`, LONGEST_LINE));
  }
  const text = printConfigText(config, { unknownFields: start.unknownFields });
  if (options.output === undefined) terminal.print(text.trimEnd());
  else await writeNew(options.output, text, options.force);
  if (options.load) await load(config, options, terminal);
}

const LONGEST_LINE = 2000;
const words = (value: unknown): string => (value === undefined ? 'absent' : JSON.stringify(value));

const readEdits = (options: ConfigOptions): ConfigEdits => ({
  ...pick('accelerator', options.backendAccelerator === 'trt' ? 'tensorrt' : options.backendAccelerator),
  ...pick('tensorrtPrecision', options.tensorrtPrecision),
  ...pick('tensorrtWorkspaceBytes', options.tensorrtMaxWorkspaceSize),
  ...pick('versions', options.modelVersion),
  ...pick('cudaGraphs', options.cudaGraphs && options.cudaGraphs === 'on'),
  ...pick('warmUp', options.warmUp),
  ...pick('maxBatchSize', options.maxBatchSize),
  ...pick('batching', options.batching),
  ...pick('preferredBatchSizes', options.preferredBatchSizes),
  ...pick('queueDelayUs', options.maxQueueDelay),
  ...pick('instances', options.instances),
});

/** Returns the file and the version of `--model-path`. Errors: INPUT_INVALID. */
async function pathEdits({ modelPath, modelVersion: versions }: ConfigOptions): Promise<ConfigEdits> {
  if (modelPath === undefined) return {};
  const stated = Array.isArray(versions) && versions.length === 1 ? (versions[0] as number) : undefined;
  const { file, version } = await readModelPath(modelPath, stated);
  return { modelFile: file, ...(version !== null && { versions: [version] }) };
}

/** Returns the field, or nothing without a value. */
const pick = <K extends keyof ConfigEdits>(key: K, value: ConfigEdits[K] | undefined): Pick<ConfigEdits, K> | object =>
  value === undefined ? {} : { [key]: value };

/** Errors: CONFIG_INVALID. */
function checkConfig(config: ModelConfig, start: ConfigStart): void {
  const faultsIn = (of: ModelConfig): string[] => validateConfig(of).map(({ path, reason }) => `${path} ${reason}`);
  const known = new Set(start.isServed ? faultsIn(start.config) : []);
  const faults = faultsIn(config).filter((fault) => !known.has(fault));
  if (faults.length === 0) return;
  throw new TrituneError(
    'CONFIG_INVALID',
    `Triton would reject this config: ${faults.join('; ')}`,
    'give other values; nothing was written or loaded',
  );
}

/** Errors: OUTPUT_EXISTS, OUTPUT_UNWRITABLE. */
async function writeNew(file: string, text: string, force: boolean): Promise<void> {
  try {
    await makeFolder(dirname(file));
    await writeFile(file, text, { flag: force ? 'w' : 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
      throw new TrituneError('OUTPUT_EXISTS', `${file} already exists`, 'add --force to overwrite it');
    }
    throw new TrituneError(
      'OUTPUT_UNWRITABLE',
      `cannot write ${file}: ${formatMessage(error)}`,
      'choose another --output',
    );
  }
}

/** The longest time for a loaded model to become ready. */
const SETTLE_TIMEOUT_MS = 60_000;

/**
 * Errors: MODEL_LOCKED, USAGE for a protected model, LOAD_REFUSED, CONFIG_MISMATCH if the server
 * then has another config, SERVER_TIMEOUT, CONTROL_DISABLED.
 */
async function load(config: ModelConfig, options: ConfigOptions, terminal: Terminal): Promise<void> {
  const model = options.model ?? config.name;
  if (model === undefined) throw wrong('--load needs a model', 'add -m MODEL');
  await withServer(options, (client, server) =>
    whileHeld([model], server, () => loadHeld(client, model, config, options, terminal)),
  );
}

async function loadHeld(
  client: TritonClient,
  model: string,
  config: ModelConfig,
  options: ConfigOptions,
  terminal: Terminal,
): Promise<void> {
  await checkProtected(client, model, options);
  await checkParts(client, model, config, options);
  const before = await servedConfig(client, model);
  const control = createControl(client, [{ model, config: before ?? {}, wasLoaded: before !== null }], {
    clock: realClock,
    restore: 'config',
    loadTimeoutMs: options.loadTimeout * MS_PER_S,
    settleTimeoutMs: SETTLE_TIMEOUT_MS,
    // Loaded even if it is the same, so that no mark of a killed run stays.
    mayBeLoading: before !== null && (await client.runMark(model)) !== null,
  });
  const { change, loadMs } = await control.apply(
    toCandidate(config),
    AbortSignal.timeout(options.loadTimeout * MS_PER_S + SETTLE_TIMEOUT_MS),
  );
  const how = { none: 'the server had it already', 'in-place': 'in place', full: 'anew' }[change];
  terminal.tell(`loaded '${plainLine(model)}' on ${client.url}: ${how}, ${(loadMs / MS_PER_S).toFixed(2)} s`);
  // Some backends add it if there is a batch dimension and no scheduler.
  if (!config.dynamic_batching && (await client.modelConfig(model)).dynamic_batching) {
    terminal.tell('the server added a dynamic batcher on its own');
  }
}

/** null for a model that is not loaded. */
async function servedConfig(client: TritonClient, model: string): Promise<ModelConfig | null> {
  try {
    return await client.modelConfig(model);
  } catch (error) {
    if (isTrituneError(error, 'MODEL_UNKNOWN', 'MODEL_UNREADY')) return null;
    throw error;
  }
}

const wrong = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
