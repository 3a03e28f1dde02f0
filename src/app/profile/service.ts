import type { WindowRule } from '#profiler/level-options.ts';
import type { HttpSpec } from '#spec/http-spec.ts';
import type { EndpointSpec, ProfileSpec } from '#spec/profile-spec.ts';
import type { Protocol } from '#spec/server-spec.ts';
import type { ServerIdentity } from '#study/records/records.ts';
import type { PromptSpec } from '#workload/prompt-spec.ts';
import type { OpenServer } from '../server/open-server.ts';
import type { LevelTarget } from './measuring.ts';
import type { ProfilePlan } from './plan.ts';

/**
 * The kinds of services that are measured as they are: tensor models on a Triton, any URL, or a
 * language model.
 */
export type ServiceKind = 'triton' | 'http' | 'language';

/** The options of a profile of any kind of service. */
export interface ServiceSpec extends ProfileSpec, EndpointSpec, PromptSpec, HttpSpec {
  /** USER:PASSWORD; neither printed nor stored. */
  readonly basicAuth?: string;
}

/** What finding a service needs beside its options. */
export interface ServiceSetting {
  readonly signal: AbortSignal;
  /** Called with messages for people. */
  readonly tell: (line: string) => void;
  /** The maximum number of requests in flight at a request rate; absent for no limit. */
  readonly maxInFlight?: number | undefined;
  /**
   * True to measure as perf_analyzer does, which measures a model that a killed run left changed,
   * and makes up no input of any size.
   */
  readonly alike?: boolean;
}

/** A service that answers, to which nothing is sent yet. */
export interface Service {
  /** The model, or what stands for it. */
  readonly model: string;
  readonly server: Pick<ServerIdentity, 'name' | 'version' | 'url' | 'emulated'>;
  readonly protocol: Protocol;
  /** The kind of the endpoint of a language model. */
  readonly endpoint?: string;
  /** The plan; a trace of prompts says when its requests are due. */
  readonly plan: ProfilePlan;
  /** The connected Triton with the models, if they take tensors. */
  readonly triton?: OpenServer;
  /** True if the server has answered, so that its silence is an outage. */
  readonly hasAnswered: boolean;
  /** Opens what sends to it. Errors: USAGE, INPUT_INVALID, MODEL_*, SERVER_*. */
  open(): Promise<ServedTarget>;
  close(): Promise<void>;
}

/** A service, open for many levels. */
export interface ServedTarget extends LevelTarget {
  /** The rule for the windows of its kind of requests. */
  readonly windows: WindowRule;
  /** True if the server computes on this host's CPU. */
  readonly followsHost: boolean;
  /** Inferences in one request; the mean over those of a workload. */
  readonly batch: number;
  /**
   * Returns the GPUs that the model uses, of those that the user states or the metrics report;
   * undefined if that is unknown.
   */
  countGpus(server: { readonly stated: number | undefined; readonly reported: number | undefined }): number | undefined;
}

/**
 * Finds a service, and whatever it can say about what it serves. Faults in the options are reported
 * before the server is contacted. Errors: USAGE, INPUT_INVALID, MODEL_*, SERVER_*, LAUNCH_FAILED.
 */
export type FindService = (options: ServiceSpec, plan: ProfilePlan, setting: ServiceSetting) => Promise<Service>;

/**
 * Returns the GPUs of a server whose configs are unknown: those that the user states, or that a
 * named metrics page reports. The GPUs of this machine are no sign, because the server may use some
 * of them.
 */
export const gpusOfUnknown =
  ({ metricsUrl }: Pick<ProfileSpec, 'metricsUrl'>): ServedTarget['countGpus'] =>
  ({ stated, reported }) =>
    stated ?? (metricsUrl === undefined ? undefined : reported);
