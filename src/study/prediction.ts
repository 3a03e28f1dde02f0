import { NS_PER_MS, NS_PER_US, nsToMs } from '../base/units.ts';
import type { LoadLevel } from '../loadgen/types.ts';
import type { Measurement } from '../profiler/measurement.ts';
import { policyOf } from '../queueing/batcher-policy.ts';
import { type FittedLaw, fitServiceLaw } from '../queueing/fit.ts';
import type { FitQuality } from '../queueing/fit-quality.ts';
import type { Observation } from '../queueing/observation.ts';
import { simulate } from '../queueing/simulate.ts';
import type { ModelConfig } from '../triton/model-config.ts';
import { clientBatchOf } from './client-batch.ts';
import { representative } from './final.ts';
import { instancesOf } from './metrics.ts';
import type { StudyState } from './state.ts';
import type { Trial } from './types.ts';
import { variantOf } from './variant.ts';

/** What the queueing model expects of a candidate at a load level, before anybody has measured it. */
export interface Prediction {
  /** infer/s. */
  readonly throughput: number;
  readonly latencyMs: { readonly p50: number; readonly p90: number; readonly p95: number; readonly p99: number };
  /** At the percentile asked for. */
  readonly budgetLatencyMs: { readonly percentile: number; readonly value: number };
  /** Measurements that the model was fitted to. */
  readonly from: number;
  /** How well the model explains these measurements themselves; one that does so badly foretells little. */
  readonly quality: FitQuality;
  /** What none of these had: so many instances, batches so large, or the same other settings. Empty: nothing. */
  readonly extrapolates: readonly ('instances' | 'batch size' | 'variant')[];
}

const SIMULATED_REQUESTS = 4000;
const MOST_ERRORS = 0.01;
/** Of reports: the same journal gives the same report. */
export const REPORT_SEED = 1;

/**
 * The held-out prediction of the study's best at the level that stands for it; null as `predictTrial`. It is fitted to the trials as they
 * would have been at the machine's usual speed, and is to be compared with the best's figures at that speed: a machine that drifts is then
 * no miss of the model.
 */
export function predictBest(state: StudyState): Prediction | null {
  const measurement = state.best && representative(state, state.best)?.measurement;
  if (!state.best || !measurement) return null;
  const { percentile } = measurement.budgetLatencyMs;
  return predictTrial(state.compared.trials, state.best, measurement.level, REPORT_SEED, percentile);
}

/**
 * A held-out prediction: a service law is fitted to the measurements of all other trials, never to the target's own, and
 * the target's batcher is simulated with it at that level. null where it cannot say: at a request rate, for models
 * without the dynamic batcher's scheduling (sequences, ensembles, decoupled), and when no other trial has statistics by
 * batch size. Configs that differ in more than instances and batching are variants of the model: each has a level of its
 * own, unknown for a variant that no other trial has; it is then taken to be like the others.
 */
export function predictTrial(
  trials: readonly Trial[],
  target: Trial,
  level: LoadLevel,
  seed: number,
  percentile = 99,
): Prediction | null {
  const others = trials.filter((trial) => trial.number !== target.number);
  return predictConfig(others, target.candidate.config, level, { seed, percentile });
}

/** What a service law fitted to all of these trials expects of a config at a level; null as `predictTrial`. */
export function predictConfig(
  trials: readonly Trial[],
  config: ModelConfig,
  level: LoadLevel,
  draw: Draw,
): Prediction | null {
  return forecaster(trials)(config, level, draw);
}

/** The same for many configs: the law of each variant is fitted once. */
export type Forecast = (config: ModelConfig, level: LoadLevel, draw: Draw) => Prediction | null;

/** What service laws fitted to all of these trials expect. */
export function forecaster(trials: readonly Trial[]): Forecast {
  const observations = trials.flatMap(observationsOf);
  const laws = new Map<string, FittedLaw | null>();
  return (config, level, draw) => {
    if (level.mode !== 'concurrency' || !isModelled(config)) return null;
    const variant = variantOf(config);
    const fitted = laws.get(variant) ?? fitServiceLaw(observations, variant);
    laws.set(variant, fitted);
    return fitted && simulated(fitted, config, level.value, observations[0]?.samplesPerRequest ?? 1, draw);
  };
}

interface Draw {
  readonly seed: number;
  /** Of `budgetLatencyMs`. */
  readonly percentile: number;
  /** Requests to simulate; fewer are quicker and less sure of the tail. */
  readonly requests?: number;
}

function simulated(
  fitted: FittedLaw,
  config: ModelConfig,
  concurrency: number,
  samplesPerRequest: number,
  { seed, percentile, requests = SIMULATED_REQUESTS }: Draw,
): Prediction | null {
  const policy = policyOf(config, instancesOf(config));
  if (samplesPerRequest > Math.max(1, policy.maxBatchSize)) return null;
  const traffic = { kind: 'closed', concurrency, roundTripNs: fitted.roundTripNs, samplesPerRequest } as const;
  const extent = { warmUpRequests: 4 * concurrency, requests, seed };
  const { requestsPerSecond, latencyNs, latenciesNs, executions } = simulate(policy, fitted.law, traffic, extent);
  const rank = Math.max(0, Math.ceil((percentile / 100) * latenciesNs.length) - 1);
  const { p50, p90, p95, p99 } = latencyNs;
  return {
    throughput: requestsPerSecond * samplesPerRequest,
    latencyMs: { p50: nsToMs(p50), p90: nsToMs(p90), p95: nsToMs(p95), p99: nsToMs(p99) },
    budgetLatencyMs: { percentile, value: nsToMs(latenciesNs[rank] as number) },
    from: fitted.observations,
    quality: fitted.quality,
    extrapolates: [
      ...(policy.instances > fitted.mostInstances ? (['instances'] as const) : []),
      ...(executions.findLastIndex((count) => count > 0) > fitted.largestBatch ? (['batch size'] as const) : []),
      ...(fitted.knowsVariant ? [] : (['variant'] as const)),
    ],
  };
}

/** False for models without the dynamic batcher's scheduling: sequences, ensembles, decoupled. */
export function isModelled(config: ModelConfig): boolean {
  const { sequence_batching, ensemble_scheduling, model_transaction_policy } = config;
  return !sequence_batching && !ensemble_scheduling && model_transaction_policy?.decoupled !== true;
}

/** What the trial's measurements tell about the service law; none of those that were disturbed, or at a request rate. */
export function observationsOf({ candidate, measurements }: Pick<Trial, 'candidate' | 'measurements'>): Observation[] {
  const policy = policyOf(candidate.config, instancesOf(candidate.config));
  const variant = variantOf(candidate.config);
  return measurements.flatMap((measurement): Observation[] => {
    const { level, latencyMs, server, throughput } = measurement;
    if (level.mode !== 'concurrency' || !server || !isUsable(measurement)) return [];
    const computeUs = server.computeInputUs + server.computeInferUs + server.computeOutputUs;
    if (!(computeUs > 0)) return [];
    // A batch that was served fits into the model's, whatever a disturbed measurement makes of the rates.
    const samplesPerRequest = Math.min(clientBatchOf(measurement), Math.max(1, policy.maxBatchSize));
    return [
      {
        variant,
        policy,
        concurrency: level.value,
        samplesPerRequest,
        requestsPerSecond: throughput.value / samplesPerRequest,
        latencyNs: { p50: latencyMs.p50 * NS_PER_MS, p99: latencyMs.p99 * NS_PER_MS },
        roundTripNs: latencyMs.avg * NS_PER_MS - (server.queueUs + computeUs) * NS_PER_US,
        split: { input: server.computeInputUs / computeUs, output: server.computeOutputUs / computeUs },
        batches: server.batches.map(({ size, executions, meanExecutionUs }) => ({
          batchSize: size,
          executions,
          meanExecutionNs: meanExecutionUs * NS_PER_US,
        })),
      },
    ];
  });
}

/** Nothing else was served meanwhile, hardly anything failed, and the figures are figures, and the server's. */
function isUsable({ errorRate, foreignRequests, throughput, latencyMs, client }: Measurement): boolean {
  const { avg, p50, p99 } = latencyMs;
  const served = [throughput.value, avg, p50, p99].every((figure) => Number.isFinite(figure) && figure > 0);
  return served && !client.bound && errorRate <= MOST_ERRORS && foreignRequests === undefined;
}
