import { realClock } from '../../base/clock.ts';
import { TrituneError } from '../../base/errors.ts';
import { plainLine } from '../../base/format.ts';
import { MS_PER_S } from '../../base/units.ts';
import type { ObservedRequest } from '../../loadgen/observed-transport.ts';
import type { LoadLevel, OutputTensor, RequestSet } from '../../loadgen/types.ts';
import type { LevelReport } from '../../profiler/level-report.ts';
import { measureLevel } from '../../profiler/measure-level.ts';
import type { Measurement, ProfileProgress } from '../../profiler/measurement.ts';
import { reportOf } from '../../profiler/report-of.ts';
import type { LevelRange } from '../../study/types.ts';
import { composingModels } from '../../triton/config/ensemble-rules.ts';
import { instancesOf } from '../../triton/config/instances.ts';
import type { ModelConfig } from '../../triton/config/model-config.ts';
import type { TritonClient } from '../../triton/types.ts';
import { devicesOf } from '../server/devices.ts';
import { type OpenServer, type OriginalModel, readOriginal } from '../server/open-server.ts';
import { openTraffic } from '../traffic/open-traffic.ts';
import { assumptionsOf, requestsOf } from '../traffic/requests.ts';
import { rateSchedule } from '../traffic/schedule.ts';
import type { ProfilePlan } from './plan.ts';
import type { ProfileSpec } from './profile-spec.ts';

/** Without a budget on a percentile, the interval of this one is told. */
const USUAL_PERCENTILE = 99;

/** Who wants to know what happens while a level is measured. */
export interface LevelListener {
  onProgress(progress: ProfileProgress): void;
  /** Every request that ended with its outputs; only for targets that observe. */
  onRequest(observed: ObservedRequest, outputs: readonly OutputTensor[]): void;
}

/** The model that is profiled, with what is sent to it. */
export interface ProfileTarget {
  readonly config: ModelConfig;
  readonly isDecoupled: boolean;
  /** What was chosen for the user, a line each. */
  readonly assumptions: readonly string[];
  /** Errors: INTERRUPTED, SERVER_UNREACHABLE. */
  measure(level: LoadLevel, listener: LevelListener): Promise<LevelReport>;
  /** Lets go of the sockets. */
  close(): Promise<void>;
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
  if (observes && (spec.clientThreads ?? 1) > 1) {
    throw new TrituneError('USAGE', 'every request is kept by one thread only', 'leave out --client-threads');
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
  const devices = devicesOf(opened, model);
  const isDecoupled = config.model_transaction_policy?.decoupled === true;
  return {
    config,
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
        composing: composingOf(config, spec),
        clock: realClock,
        signal,
        percentile: plan.percentile ?? USUAL_PERCENTILE,
        percentiles: plan.percentiles,
        precision: plan.precision,
        stability: plan.rule,
        warmUpRequests: spec.warmupRequestCount,
        instances: instancesOf(config),
        onProgress: (progress) => listener.onProgress(progress),
        deviceProbe: devices.probe,
        scheduleAt: (perSecond) => plan.timed?.schedule ?? rateSchedule(spec, perSecond),
        alarm: traffic.alarm,
        ...traffic.threads,
        maxErrors: spec.maxErrors,
        ...(traffic.clientCeiling && { clientCeiling: traffic.clientCeiling }),
        ...(plan.latencyLimitMs > 0 && plan.percentile !== null && { budgetMs: plan.latencyLimitMs }),
      });
      if (measurement.tooManyErrors) throw tooManyErrors(measurement);
      return reportOf(measurement, { ...plan, isDecoupled });
    },
    close: async () => {
      await devices.close();
      await traffic.close();
    },
  };
}

function tooManyErrors({ failures }: Measurement): TrituneError {
  const words = failures.map(({ kind, count, firstMessage }) => `${count} ${kind}: ${plainLine(firstMessage, 120)}`);
  return new TrituneError('SERVER_FAILED', `too many requests failed (${words.join('; ')})`, 'see --max-errors');
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

/** The models that an ensemble is made of, and those that the user says the model calls. */
function composingOf(config: ModelConfig, { blsComposingModels }: ProfileSpec): readonly string[] {
  const called = (blsComposingModels ?? '').split(',').map((name) => name.replace(/:.*/, '').trim());
  return [...composingModels(config), ...called.filter((name) => name !== '')];
}
