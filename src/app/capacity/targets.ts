import type { CapacityHead } from '../../capacity/document.ts';
import { defaultWindowRule, type WindowRule } from '../../profiler/level-options.ts';
import { gpusOf } from '../../space/gpus.ts';
import { shapeOf } from '../../space/shape.ts';
import type { CandidateShape } from '../../space/types.ts';
import type { ModelConfig } from '../../triton/config/model-config.ts';
import { askedOf } from '../profile/endpoint-asked.ts';
import { findLanguageServer } from '../profile/language-server.ts';
import { languageWindows } from '../profile/language-windows.ts';
import type { LevelTarget } from '../profile/measuring.ts';
import { type ProfilePlan, planProfile } from '../profile/plan.ts';
import { modelsOf, openProfileTarget } from '../profile/target.ts';
import { noteOwnRequests } from '../server/client-requests.ts';
import { checkLeftovers } from '../server/leftover.ts';
import { openServer } from '../server/open-server.ts';
import type { CapacitySpec } from './capacity-spec.ts';

/** A server that loads are played on, and its description. */
export interface CapacityTarget {
  readonly target: LevelTarget;
  readonly plan: ProfilePlan;
  readonly head: Pick<CapacityHead, 'model' | 'server' | 'protocol'>;
  readonly windows: WindowRule;
  /** True if the server computes on this host's CPU. */
  readonly followsHost: boolean;
  readonly requestTimeoutSeconds: number;
  /** Samples in one request; the mean over those of a workload. */
  readonly batch: number;
  /** Returns the GPUs that the model uses, of those that the user states or the metrics report; undefined if that is unknown. */
  gpusOf(server: { readonly stated: number | undefined; readonly reported: number | undefined }): number | undefined;
  close(): Promise<void>;
}

/**
 * Returns the GPUs of a server whose configs are unknown: those that the user states, or that a named metrics page reports. The GPUs of this machine
 * are no sign, because the server may use some of them.
 */
export const gpusOfUnknown =
  ({ metricsUrl }: Pick<CapacitySpec, 'metricsUrl'>): CapacityTarget['gpusOf'] =>
  ({ stated, reported }) =>
    stated ?? (metricsUrl === undefined ? undefined : reported);

/** Language models take long to reply. */
const LANGUAGE_TIMEOUT_S = 600;
const USUAL_TIMEOUT_S = 30;

/** Returns the options as those of a profile at request rates. */
export const profileOf = <S extends CapacitySpec>(isLanguage: boolean, { burst: _, ...options }: S) => ({
  ...options,
  requestTimeout:
    isLanguage && options.requestTimeout === USUAL_TIMEOUT_S ? LANGUAGE_TIMEOUT_S : options.requestTimeout,
  latencyThreshold: 0,
  traceSpeed: 1,
  ...(options.workload === undefined && { requestRateRange: { start: 1, end: 1, step: 1 } }),
});

/** Opens a tensor model on a Triton, running or launched. Errors: USAGE, INPUT_INVALID, MODEL_*, SERVER_*, LAUNCH_FAILED. */
export async function openTriton(given: CapacitySpec, signal: AbortSignal): Promise<CapacityTarget> {
  const options = profileOf(false, given);
  const plan = await planProfile(options, false);
  const models = modelsOf(options, plan);
  const opened = await openServer(options, { loadModels: models }, null, signal);
  try {
    await checkLeftovers(opened, models);
    const noteSent = await noteOwnRequests(opened, models);
    const target = await openProfileTarget(opened, models[0], options, plan, signal);
    const { name, version, url, emulated } = opened.server;
    return {
      target,
      plan,
      head: { model: models.join(', '), server: { name, version, url, emulated }, protocol: options.protocol },
      windows: defaultWindowRule,
      followsHost: target.hostWorkUs !== undefined && target.configs.every(isOnCpu),
      requestTimeoutSeconds: options.requestTimeout,
      batch: target.batch,
      gpusOf: ({ stated, reported }) => gpusOf(shapeOfAll(target.configs), stated ?? reported),
      close: async () => {
        await target.close();
        await noteSent();
        await opened.close();
      },
    };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** A model that names no device runs on a GPU if there is one, and then its speed does not depend on the host. */
const isOnCpu = ({ instance_group: groups = [] }: ModelConfig): boolean =>
  groups.length > 0 && groups.every(({ kind }) => kind === 'KIND_CPU');

const shapeOfAll = (configs: readonly [ModelConfig, ...ModelConfig[]]): CandidateShape => ({
  ...shapeOf(configs[0]),
  members: Object.fromEntries(configs.map((config) => [config.name ?? '', shapeOf(config)])),
});

/** Opens a language model. Errors: USAGE, INPUT_INVALID, MODEL_*, SERVER_*. */
export async function openLanguage(given: CapacitySpec, signal: AbortSignal): Promise<CapacityTarget> {
  const options = profileOf(true, given);
  const asked = askedOf(options);
  const found = await findLanguageServer(options, asked, await planProfile(options, false));
  const { model, server, plan, spec } = found;
  const target = await found.open(signal);
  return {
    target,
    plan,
    head: { model, server, protocol: spec.protocol },
    windows: { ...defaultWindowRule, ...languageWindows },
    followsHost: false,
    requestTimeoutSeconds: options.requestTimeout,
    batch: 1,
    gpusOf: gpusOfUnknown(options),
    close: () => target.close(),
  };
}
