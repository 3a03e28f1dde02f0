import { TrituneError } from '../../base/errors.ts';
import { MS_PER_S } from '../../base/units.ts';
import type { RequestSet } from '../../loadgen/types.ts';
import { measureLevel } from '../../profiler/measure-level.ts';
import type { LevelRange } from '../../study/types.ts';
import { composingModels } from '../../triton/config/ensemble-rules.ts';
import { instancesOf } from '../../triton/config/instances.ts';
import type { ModelConfig } from '../../triton/config/model-config.ts';
import type { TritonClient } from '../../triton/types.ts';
import { devicesOf } from '../server/devices.ts';
import { type OpenServer, type OriginalModel, readOriginal } from '../server/open-server.ts';
import { openTraffic } from '../traffic/open-traffic.ts';
import { assumptionsOf, requestsOf } from '../traffic/requests.ts';
import { type LevelListener, type LevelTarget, measuringOf, reported } from './measuring.ts';
import type { ProfilePlan } from './plan.ts';
import type { ProfileSpec } from './profile-spec.ts';

/** The model that is profiled, with what is sent to it. */
export interface ProfileTarget extends LevelTarget {
  readonly config: ModelConfig;
}

/** Errors: MODEL_UNKNOWN, MODEL_UNREADY, USAGE, INPUT_INVALID, SERVER_*. */
export async function openProfileTarget(
  opened: OpenServer,
  model: string,
  spec: ProfileSpec,
  plan: ProfilePlan,
  signal: AbortSignal,
): Promise<ProfileTarget> {
  const { config, metadata } = await modelOf(opened.client, model, spec);
  const inputs = await requestsOf(spec, { config, metadata });
  let listening: LevelListener | undefined;
  const observes = spec.profileExportFile !== undefined;
  if (observes && ((spec.clientThreads ?? 1) > 1 || spec.agents)) {
    throw new TrituneError(
      'USAGE',
      'every request is kept by one thread of this machine only',
      'leave out --client-threads and --agents',
    );
  }
  const traffic = await openTraffic(opened, {
    spec,
    config,
    inputs,
    levels: levelRangeOf(plan),
    timeoutMs: spec.requestTimeout * MS_PER_S,
    ...(observes && { onObserved: (observed, outputs) => listening?.onRequest(observed, outputs) }),
  });
  const requests = ofVersion(traffic.requestsFor(config), spec.modelVersion ?? '');
  const composing = await composingOf(opened.client, config, spec);
  const devices = devicesOf(opened, model);
  const isDecoupled = config.model_transaction_policy?.decoupled === true;
  return {
    config,
    serviceKind: 'TRITON',
    isDecoupled,
    assumptions: assumptionsOf(inputs),
    measure: async (level, listener) => {
      listening = listener;
      const measurement = await measureLevel({
        transport: traffic.transport,
        requests,
        sequences: traffic.sequences,
        level,
        stats: opened.client,
        composing,
        signal,
        ...measuringOf(spec, plan),
        instances: instancesOf(config),
        onProgress: (progress) => listener.onProgress(progress),
        deviceProbe: devices.probe,
        alarm: traffic.alarm,
        ...traffic.threads,
        maxErrors: spec.maxErrors,
        ...(traffic.clientCeiling && { clientCeiling: traffic.clientCeiling }),
      });
      return reported(measurement, plan, isDecoupled);
    },
    close: async () => {
      await devices.close();
      await traffic.close();
    },
  };
}

/** A server that was started for the run may not have loaded the model yet; nobody else's is told to load anything. */
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
    throw new TrituneError('MODEL_UNKNOWN', `'${model}' is not served in version ${version}`, `it is in ${served}`);
  }
  return { config, metadata };
}

function levelRangeOf({ mode, sweep: { range } }: ProfilePlan): LevelRange {
  const NO_END = 1024;
  return { mode, low: range.start, high: range.end === 0 ? Math.max(range.start, NO_END) : range.end };
}

const ofVersion = (set: RequestSet, version: string): RequestSet =>
  version === '' ? set : { ...set, version, requests: set.requests.map((request) => ({ ...request, version })) };

/** The models that an ensemble is made of, those of ensembles inside after them, and those that the user says the model calls. */
async function composingOf(
  client: TritonClient,
  config: ModelConfig,
  { blsComposingModels }: ProfileSpec,
): Promise<readonly string[]> {
  const found = new Set<string>();
  const add = async (parts: readonly string[]): Promise<void> => {
    const added = parts.filter((name) => !found.has(name));
    for (const name of added) found.add(name);
    for (const name of added) await add(composingModels(await client.modelConfig(name)));
  };
  await add(composingModels(config));
  const called = (blsComposingModels ?? '').split(',').map((name) => name.replace(/:.*/, '').trim());
  return [...new Set([...found, ...called.filter((name) => name !== '')])];
}
