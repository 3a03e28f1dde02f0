import { nsToMs } from '../base/units.ts';
import type { LoadLevel } from '../loadgen/types.ts';
import { isModelled, observationsOf } from '../perfmodel/observations.ts';
import { variantOf } from '../perfmodel/variant.ts';
import { policyOf } from '../queueing/batcher-policy.ts';
import { type FittedLaw, fitServiceLaw } from '../queueing/fit.ts';
import { simulate } from '../queueing/simulate.ts';
import { instancesOf } from '../triton/instances.ts';
import type { ModelConfig } from '../triton/model-config.ts';
import { type Draw, type Prediction, SIMULATED_REQUESTS } from './prediction.ts';
import type { Trial } from './types.ts';

/** What a service law fitted to all of these trials expects of a config at a level; null as `predictTrial` (prediction.ts). */
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
