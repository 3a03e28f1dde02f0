import { TrituneError } from '../../base/errors.ts';
import { MS_PER_S } from '../../base/units.ts';
import type { PreparedInputs } from '../../loadgen/inputs.ts';
import type { RequestSet } from '../../loadgen/types.ts';
import type { OnObserved } from '../../loadgen/workers/observed-requests.ts';
import type { PlayedFront } from '../../profiler/play.ts';
import type { LevelRange } from '../../study/types.ts';
import { composingModels } from '../../triton/config/ensemble-rules.ts';
import { instancesOf } from '../../triton/config/instances.ts';
import type { ModelConfig } from '../../triton/config/model-config.ts';
import { readOtherConfigs } from '../../triton/control/other-configs.ts';
import type { TritonClient } from '../../triton/types.ts';
import { type OpenServer, type OriginalModel, readOriginal } from '../server/open-server.ts';
import { openTraffic } from '../traffic/open-traffic.ts';
import { assumptionsOf } from '../traffic/requests.ts';
import type { ProfilePlan } from './plan.ts';
import type { ProfileSpec } from './profile-spec.ts';

/** One profiled model, with its requests. */
export interface OpenFront {
  readonly config: ModelConfig;
  readonly isDecoupled: boolean;
  readonly assumptions: readonly string[];
  readonly options: PlayedFront;
  /** Closes the sockets and frees shared memory. */
  close(): Promise<void>;
}

export interface FrontAsked {
  readonly model: string;
  /** Makes the model's requests. */
  readonly inputsOf: (original: Pick<OriginalModel, 'config' | 'metadata'>) => Promise<PreparedInputs>;
  readonly onObserved?: OnObserved | undefined;
}

/** Errors: MODEL_UNKNOWN, MODEL_UNREADY, USAGE, INPUT_INVALID, SERVER_*. */
export async function openFront(
  opened: OpenServer,
  { model, inputsOf, onObserved }: FrontAsked,
  spec: ProfileSpec,
  plan: ProfilePlan,
): Promise<OpenFront> {
  const { config, metadata } = await modelOf(opened.client, model, spec);
  const inputs = await inputsOf({ config, metadata });
  const traffic = await openTraffic(opened, {
    ...{ spec, config, inputs, onObserved },
    levels: levelRangeOf(plan),
    timeoutMs: spec.requestTimeout * MS_PER_S,
  });
  return {
    config,
    isDecoupled: config.model_transaction_policy?.decoupled === true,
    assumptions: assumptionsOf(inputs),
    options: {
      ...traffic.sending,
      requests: ofVersion(traffic.requestsFor(config), spec.modelVersion ?? ''),
      stats: opened.client,
      composing: await composingOf(opened.client, config, spec),
      instances: instancesOf(config),
    },
    close: traffic.close,
  };
}

/** Loads the model if the server was started for the run; leaves other servers alone. */
async function modelOf(
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

function levelRangeOf({ mode, sweep: { range } }: ProfilePlan): LevelRange {
  const NO_END = 1024;
  return { mode, low: range.start, high: range.end === 0 ? Math.max(range.start, NO_END) : range.end };
}

const ofVersion = (set: RequestSet, version: string): RequestSet =>
  version === '' ? set : { ...set, version, requests: set.requests.map((request) => ({ ...request, version })) };

/** Returns the models of an ensemble, including nested ones, followed by the models that the user says the model calls. */
async function composingOf(
  client: TritonClient,
  config: ModelConfig,
  { blsComposingModels }: ProfileSpec,
): Promise<readonly string[]> {
  const found = new Set<string>();
  const add = async (parts: readonly string[]): Promise<void> => {
    const added = parts.filter((name) => !found.has(name));
    for (const name of added) found.add(name);
    const { configs } = await readOtherConfigs(client, added);
    for (const each of Object.values(configs)) await add(composingModels(each));
  };
  await add(composingModels(config));
  const called = (blsComposingModels ?? '').split(',').map((name) => name.replace(/:.*/, '').trim());
  return [...new Set([...found, ...called.filter((name) => name !== '')])];
}
