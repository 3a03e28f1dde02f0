import { errorLine } from '#base/error-line.ts';
import { TrituneError } from '#base/errors.ts';
import { MS_PER_S } from '#base/units.ts';
import type { PreparedInputs } from '#loadgen/inputs.ts';
import type { RequestSet } from '#loadgen/types.ts';
import { defaultWindowRule } from '#profiler/level-options.ts';
import type { PlayedFront } from '#profiler/play.ts';
import { countGpus } from '#space/gpus.ts';
import { readShape } from '#space/shape.ts';
import type { CandidateShape } from '#space/types.ts';
import type { ProfileSpec } from '#spec/profile-spec.ts';
import type { LevelRange } from '#study/types.ts';
import { composingModels } from '#triton/config/ensemble-rules.ts';
import { countInstances } from '#triton/config/instances.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { readOtherConfigs } from '#triton/control/other-configs.ts';
import type { TritonClient } from '#triton/types.ts';
import { noteOwnRequests } from '../server/client-requests.ts';
import { listDevices } from '../server/devices.ts';
import { checkLeftovers, leftoversIn } from '../server/leftover.ts';
import { type OpenServer, type OriginalModel, openServer, readOriginal } from '../server/open-server.ts';
import { checkObservable } from '../traffic/client-threads.ts';
import { openTraffic, type TrafficOrder } from '../traffic/open-traffic.ts';
import type { Sender } from '../traffic/sender.ts';
import { requireSizes } from '../traffic/stated-sizes.ts';
import { listAssumptions, readRequests } from '../traffic/tensor-requests.ts';
import { classShares, listFronts, prepareClassInputs, type WorkloadFront } from '../traffic/workload.ts';
import { type LevelListener, levelTarget } from './measuring.ts';
import { checkLimits, type ProfilePlan } from './plan.ts';
import type { FindService, ServedTarget, ServiceSetting } from './service.ts';

/** Finds tensor models on a Triton, running or launched. */
export const findTensors: FindService = async (options, plan, { signal, tell, alike = false }) => {
  checkLimits(options, plan);
  const models = listModels(options, plan);
  const opened = await openServer(options, { loadModels: models }, null, signal);
  try {
    if (!alike) await checkLeftovers(opened, models);
    // perf_analyzer measures any config as it is, so its drop-in only warns.
    else for await (const error of leftoversIn(opened, models)) tell(`warning: ${errorLine(error)}`);
    const noteSent = await noteOwnRequests(opened, models);
    const { name, version, url, emulated } = opened.server;
    return {
      model: models.join(', '),
      server: { name, version, url, emulated },
      protocol: options.protocol,
      plan,
      triton: opened,
      hasAnswered: true,
      open: () => openTensors(opened, models[0], options, plan, { signal, alike }),
      close: async () => {
        await noteSent();
        await opened.close();
      },
    };
  } catch (error) {
    await opened.close();
    throw error;
  }
};

/** Returns the models to send to. Errors: USAGE if none is named. */
function listModels(
  spec: Pick<ProfileSpec, 'model'>,
  { workload }: Pick<ProfilePlan, 'workload'>,
): readonly [string, ...string[]] {
  const models = workload ? listFronts(workload, spec.model).map(({ model }) => model) : [spec.model];
  const [first, ...others] = models.filter((model) => model !== undefined);
  if (first === undefined) throw new TrituneError('USAGE', 'the model is missing', 'add -m MODEL');
  return [first, ...others];
}

/**
 * Opens the senders to a model, or to those that the classes of a workload name. Errors:
 * MODEL_UNKNOWN, MODEL_UNREADY, USAGE, INPUT_INVALID, SERVER_*.
 */
export async function openTensors(
  opened: OpenServer,
  model: string,
  spec: ProfileSpec,
  plan: ProfilePlan,
  { signal, alike = false }: Pick<ServiceSetting, 'signal' | 'alike'>,
): Promise<ServedTarget> {
  const observes = spec.profileExportFile !== undefined;
  if (observes) checkObservable(spec);
  const { workload } = plan;
  const parts: readonly (WorkloadFront | undefined)[] = workload ? listFronts(workload, model) : [undefined];
  let listening: LevelListener | undefined;
  const onObserved: TrafficOrder['onObserved'] = observes
    ? (observed, outputs) => listening?.onRequest(observed, outputs)
    : undefined;
  const fronts: OpenFront[] = [];
  const close = async (): Promise<void> => {
    for (const front of fronts) await front.close();
  };
  try {
    for (const part of parts) {
      const original = await readModel(opened.client, part?.model ?? model, spec);
      const inputs =
        workload && part
          ? await prepareClassInputs(part, spec, original, workload)
          : await readRequests(spec, original);
      if (alike) requireSizes(inputs, original.config);
      fronts.push(await openFront(opened, original.config, inputs, spec, plan, onObserved));
    }
  } catch (error) {
    await close();
    throw error;
  }
  const configs = fronts.map(({ config }) => config) as [ModelConfig, ...ModelConfig[]];
  const target = levelTarget(
    {
      serviceKind: 'TRITON',
      isDecoupled: configs.some(({ model_transaction_policy: policy }) => policy?.decoupled === true),
      assumptions: fronts.flatMap(({ assumptions }) => assumptions),
      fronts: fronts.map(({ options }, index) => ({ ...options, classes: parts[index]?.indexes })),
      devices: listDevices(opened, parts[0]?.model ?? model),
      onLevel: (listener) => {
        listening = listener;
      },
      close,
    },
    spec,
    plan,
    signal,
  );
  return {
    ...target,
    windows: defaultWindowRule,
    followsHost: target.hostWorkUs !== undefined && configs.every(isOnCpu),
    batch: meanBatch(fronts, parts, plan),
    countGpus: ({ stated, reported }) => countGpus(shapeOfAll(configs), stated ?? reported),
  };
}

/**
 * A model that names no device runs on a GPU if there is one, and then its speed does not depend on
 * the host.
 */
const isOnCpu = ({ instance_group: groups = [] }: ModelConfig): boolean =>
  groups.length > 0 && groups.every(({ kind }) => kind === 'KIND_CPU');

const shapeOfAll = (configs: readonly [ModelConfig, ...ModelConfig[]]): CandidateShape => ({
  ...readShape(configs[0]),
  members: Object.fromEntries(configs.map((config) => [config.name ?? '', readShape(config)])),
});

/** Each model weighs by its requests in the workload. */
function meanBatch(
  fronts: readonly OpenFront[],
  parts: readonly (WorkloadFront | undefined)[],
  { workload }: ProfilePlan,
): number {
  const counts = parts.map((part) => (workload && part ? sum(classShares(part, workload)) : 1));
  return sum(fronts.map(({ options }, index) => options.requests.batch * (counts[index] as number))) / sum(counts);
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

/** One model, with its requests and their sender. */
interface OpenFront extends Pick<Sender, 'close'> {
  readonly config: ModelConfig;
  readonly assumptions: readonly string[];
  readonly options: PlayedFront;
}

async function openFront(
  opened: OpenServer,
  config: ModelConfig,
  inputs: PreparedInputs,
  spec: ProfileSpec,
  plan: ProfilePlan,
  onObserved: TrafficOrder['onObserved'],
): Promise<OpenFront> {
  const traffic = await openTraffic(opened, {
    spec,
    config,
    inputs,
    onObserved,
    levels: toLevelRange(plan),
    timeoutMs: spec.requestTimeout * MS_PER_S,
  });
  return {
    config,
    assumptions: listAssumptions(inputs),
    options: {
      ...traffic.sending,
      requests: ofVersion(traffic.requestsFor(config), spec.modelVersion ?? ''),
      stats: opened.client,
      composing: await readComposing(opened.client, config, spec),
      instances: countInstances(config),
    },
    close: traffic.close,
  };
}

/** Loads the model if the server was started for the run; leaves other servers alone. */
async function readModel(
  client: TritonClient,
  model: string,
  spec: ProfileSpec,
): Promise<Pick<OriginalModel, 'config' | 'metadata'>> {
  if (spec.launch !== undefined) return readOriginal(client, model);
  const [config, metadata] = await Promise.all([client.modelConfig(model), client.modelMetadata(model)]);
  const version = spec.modelVersion;
  if (version !== undefined && !metadata.versions.includes(version)) {
    const served = metadata.versions.join(', ');
    throw new TrituneError(
      'MODEL_UNKNOWN',
      `'${model}' is not served in version ${version}`,
      `give --model-version with one of ${served}`,
    );
  }
  return { config, metadata };
}

function toLevelRange({ mode, sweep: { range } }: ProfilePlan): LevelRange {
  const NO_END = 1024;
  return { mode, low: range.start, high: range.end === 0 ? Math.max(range.start, NO_END) : range.end };
}

const ofVersion = (set: RequestSet, version: string): RequestSet =>
  version === '' ? set : { ...set, version, requests: set.requests.map((request) => ({ ...request, version })) };

/**
 * Returns the models of an ensemble, including nested ones, followed by the models that the user
 * says the model calls.
 */
async function readComposing(
  client: TritonClient,
  config: ModelConfig,
  { blsComposingModels }: ProfileSpec,
): Promise<readonly string[]> {
  const names = new Set<string>();
  const add = async (parts: readonly string[]): Promise<void> => {
    const added = parts.filter((name) => !names.has(name));
    for (const name of added) names.add(name);
    const { configs } = await readOtherConfigs(client, added);
    for (const each of Object.values(configs)) await add(composingModels(each));
  };
  await add(composingModels(config));
  const called = (blsComposingModels ?? '').split(',').map((name) => name.replace(/:.*/, '').trim());
  return [...new Set([...names, ...called.filter((name) => name !== '')])];
}
