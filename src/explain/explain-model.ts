import { formatFigure, formatMs, listed } from '#base/format.ts';
import { toChoice } from '#perfmodel/modelled-config.ts';
import { isModelled } from '#perfmodel/observations.ts';
import type { ServerBreakdown } from '#profiler/server-figures.ts';
import { toModelConfig, toOriginal } from '#space/model-configs.ts';
import type { Candidate } from '#space/types.ts';
import { composingModels } from '#triton/config/ensemble-rules.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { findDispersion, toProcess } from './arrivals.ts';
import { cause, countedCauses, type WeighedCause } from './causes.ts';
import { busyInstances, meanBatch, samplesPerRequest } from './execution-law.ts';
import { explainBySimulation, type LatencyLimit } from './explain-by-simulation.ts';
import type { Cause, ModelExplanation } from './explanation.ts';
import { type ModelWork, readTimesMs, type ServerWork } from './readings.ts';

/** The share of a request's time from which on one model is the slow one. */
const SLOW_SHARE = 0.5;

/** Returns the cause in an ensemble, if one of its models takes most of a request's time. */
function pipelineCauses(
  work: ServerWork,
  config: ModelConfig,
  { requestUs, successCount }: ServerBreakdown,
): WeighedCause[] {
  const members = composingModels(config).flatMap((member) => {
    const breakdown = work.get(member)?.breakdown;
    // Each request calls it once at least. Calls by other clients count as well.
    return breakdown ? [{ member, us: breakdown.requestUs * Math.max(1, breakdown.successCount / successCount) }] : [];
  });
  const [slowest] = members.sort((a, b) => b.us - a.us);
  if (!slowest || slowest.us < SLOW_SHARE * requestUs) return [];
  const evidence = `'${slowest.member}' takes ${formatMs(slowest.us / 1e3)} of ${formatMs(requestUs / 1e3)}`;
  const gain = requestUs / Math.max(requestUs / 10, requestUs - slowest.us / 2);
  return [cause('slow-member', 'likely', gain, evidence)];
}

/** The share of the queue in a request's time from which on places of sequences are short. */
const LARGE_SHARE = 0.3;

/** Returns the cause of a sequence batcher whose requests wait. */
function sequenceCauses(
  { sequence_batching: batching }: ModelConfig,
  { queueUs, requestUs }: ServerBreakdown,
): WeighedCause[] {
  if (!batching || queueUs < LARGE_SHARE * requestUs) return [];
  const evidence = `${formatFigure((100 * queueUs) / requestUs)} % of a request's time is queue`;
  return [cause('sequences', 'likely', requestUs / (requestUs - queueUs / 2), evidence)];
}

/** Causes that are named at most. */
const MAX_CAUSES = 2;

/**
 * Explains what a model did: its traffic and times, the causes, what its config would serve at
 * most, and a better config. `others`: the other models, unless they are parts of this one. Pure:
 * the same work gives the same explanation. null if it served no request.
 */
export function explainModel(
  work: ServerWork,
  config: ModelConfig,
  others: readonly string[],
  budget: LatencyLimit,
): ModelExplanation | null {
  const model = config.name ?? '';
  const served = work.get(model);
  if (!served?.breakdown) return null;
  const { breakdown } = served;
  const original = toOriginal(config);
  const now = {
    ...describeTraffic(served, breakdown, original.shape.policy.instances),
    ...describeConfig(original, served, breakdown),
  };
  const counted = [
    ...countedCauses({ breakdown, served }),
    ...pipelineCauses(work, config, breakdown),
    ...sequenceCauses(config, breakdown),
  ];
  const othersWork = others.flatMap((other) => work.get(other) ?? []);
  const simulated = isSimulated(original) ? explainBySimulation(original, served, othersWork, budget) : null;
  if (simulated) {
    const { causes, hasEvenGroups, ...rest } = simulated;
    const traffic = hasEvenGroups ? { ...now.traffic, arrivals: 'bursts' as const } : now.traffic;
    return { model, ...now, traffic, causes: firstCauses([...counted, ...causes]), ...rest };
  }
  const unknown = [`what another config would give: ${whyNotSimulated(original, breakdown)}`];
  return { model, ...now, causes: firstCauses(counted), present: null, proposal: null, unknown, settle: null };
}

/** Larger models are simulated no more; no real one is so large. */
const MAX_SIMULATED = { instances: 256, batch: 16_384 };

const isSimulated = ({ shape }: Candidate): boolean =>
  isModelled(shape) &&
  shape.policy.instances <= MAX_SIMULATED.instances &&
  shape.policy.maxBatchSize <= MAX_SIMULATED.batch;

function describeTraffic(served: ModelWork, breakdown: ServerBreakdown, instances: number) {
  const { seconds } = served;
  const dispersion = findDispersion(served, instances);
  const { successCount, failCount } = breakdown;
  const error = (1.96 * Math.sqrt(Math.max(1, dispersion?.value ?? 1) * successCount)) / seconds;
  const perSecond = successCount / seconds;
  return {
    seconds,
    traffic: {
      requestsPerSecond: { value: perSecond, low: Math.max(0, perSecond - error), high: perSecond + error },
      failedPerSecond: failCount / seconds,
      samplesPerRequest: samplesPerRequest(breakdown),
      arrivals: dispersion ? toProcess(dispersion, 0).kind : ('unknown' as const),
      dispersion,
    },
    timesMs: { request: breakdown.requestUs / 1e3, ...readTimesMs(breakdown) },
  };
}

function describeConfig(original: Candidate, { seconds }: ModelWork, breakdown: ServerBreakdown) {
  const { policy, largestBatch } = toChoice(original);
  return {
    batches: {
      mean: meanBatch(breakdown),
      largest: Math.max(largestBatch, policy.maxBatchSize),
      sizes: breakdown.batches.map(({ size, executions, meanExecutionUs }) => ({
        size,
        executions,
        meanExecutionMs: meanExecutionUs / 1e3,
      })),
    },
    instances: { count: policy.instances, busy: busyInstances({ seconds, breakdown }) },
  };
}

/** Weights of a cause's gain by how sure it is. */
const SURENESS: Readonly<Record<Cause['sure'], number>> = { sure: 1, likely: 0.8, possible: 0.4 };

/** Returns the most important causes; `nothing` if there is none. */
function firstCauses(causes: readonly WeighedCause[]): Cause[] {
  const weigh = ({ gain, sure }: WeighedCause): number => SURENESS[sure] * Math.log(gain);
  const first = causes.toSorted((a, b) => weigh(b) - weigh(a)).slice(0, MAX_CAUSES);
  if (first.length === 0)
    return [
      { code: 'nothing', sure: 'likely', evidence: "at today's traffic, no change that can be simulated gives 10 %" },
    ];
  return first.map(({ code, sure, evidence }) => ({ code, sure, evidence }));
}

function whyNotSimulated(original: Candidate, { batches }: ServerBreakdown): string {
  const parts = composingModels(toModelConfig(original));
  if (parts.length > 0) return `it is an ensemble of ${listed(parts)}; see these`;
  if (!isModelled(original.shape)) return 'sequences and decoupled models are not simulated';
  if (!isSimulated(original)) return 'it has more instances, or larger batches, than are simulated';
  return batches.length === 0
    ? 'the server does not tell execution times by batch size'
    : 'its requests do not fit the config';
}
