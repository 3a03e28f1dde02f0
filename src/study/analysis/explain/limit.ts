import { lookUp } from '#base/look-up.ts';
import { nsToMs } from '#base/units.ts';
import { isModelled } from '#perfmodel/observations.ts';
import type { StageBottleneck } from '#perfmodel/service-model.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { DeviceMetrics } from '#profiler/server-figures.ts';
import type { CandidateShape } from '#space/types.ts';
import { missedConstraints } from '../../goal/goal.ts';
import { findInFlight, isHighest } from '../../level-line.ts';
import type { StudyState } from '../../records/state.ts';
import { MIN_INSTANCE_GAIN } from '../../summary/describe.ts';
import type { Limit, LimitKind, TimeSplit } from '../../summary/explanation-schema.ts';
import type { Constraint, Trial } from '../../types.ts';
import { busiestStage, type StageSplit, stageSplits } from '../stages.ts';
import { computeEngineLoad, isCacheFull, isOutOfSequences } from './engine-load.ts';

const BUSY = 0.85;
/**
 * Statistics and traffic cover the same time except for its edges; a busy share above this means
 * that instances are counted wrongly.
 */
const MAX_BUSY = 1.1;
const NEARLY_FULL_BATCH = 0.8;
const CPU_FULL = 0.9;
/** A GPU counts as used while anything runs on it, so a high value alone is no limit. */
const GPU_FULL = 0.95;
const LONG_QUEUE = 0.2;
const MOSTLY_OUTSIDE = 0.5;
/** The share of the queue delay that requests wait on average where the delay is the limit. */
const PART_OF_DELAY = 0.25;
/** Requests that wait longer than this multiple of the delay wait for something else. */
const MAX_OF_DELAY = 2;
/** A higher level with at most this multiple of the throughput serves no more. */
export const NO_MORE = 1.05;
const NEAR_BUDGET = 0.9;
/**
 * From this share of the busiest model's busy time on, another model may be the one that limits.
 */
const ABOUT_AS_BUSY = 0.9;

/**
 * Returns what limits a trial at the measurement that represents it. Limits of the goal are
 * compared with its figures at the usual speed. `bottleneck`: of several models the one that the
 * network model names; null for one model, and where it cannot say.
 */
export function findLimit(
  state: StudyState,
  best: Trial,
  stands: Measurement,
  { split, bottleneck }: { readonly split: TimeSplit; readonly bottleneck: StageBottleneck | null },
): Limit {
  const facts = collectFacts(state, best, stands, split, bottleneck);
  return { ...facts, kind: toKind(state, facts, stands, split) };
}

type Facts = Omit<Limit, 'kind'>;

function toKind(state: StudyState, facts: Facts, stands: Measurement, { parts }: TimeSplit): LimitKind {
  const { busyShare, cpuShare, gpuShare, queueShare, outsideShare, queueDelayMs, engine, higher } = facts;
  if (stands.client.bound || higher?.clientReason) return 'client';
  if (cpuShare !== null && cpuShare >= CPU_FULL) return 'cpu';
  if (facts.missed) return kindOfMissed(facts.missed);
  if (engine && isCacheFull(engine)) return 'kv-cache';
  if (engine && isOutOfSequences(engine)) return 'sequences';
  const isBusy = busyShare !== null && busyShare >= BUSY;
  const gainsNothing = higher !== null && higher.throughput <= NO_MORE * stands.throughput.value;
  if (facts.device || (isBusy && (isFull(facts) || gainsNothing))) return 'compute';
  if (gainsNothing && (gpuShare ?? 0) >= GPU_FULL) return 'compute';
  const delays = queueDelayMs > 0 ? (parts?.queueMs ?? 0) / queueDelayMs : 0;
  const waits = delays >= PART_OF_DELAY && delays <= MAX_OF_DELAY;
  if (busyShare !== null && !isBusy && waits && (queueShare ?? 0) >= LONG_QUEUE) return 'queue-delay';
  if (higher?.missed) return kindOfMissed(higher.missed);
  const isOutside = outsideShare !== null && outsideShare >= MOSTLY_OUTSIDE;
  if (gainsNothing) return isOutside ? 'outside' : 'unseen';
  if (isNearBudget(state, stands)) return 'latency-budget';
  if (isHighest(stands.level, state.started.levels)) return 'level-range';
  if (isOutside) return 'outside';
  return isBusy ? 'compute' : 'none';
}

const kindOfMissed = ({ metric }: Constraint): LimitKind => (metric === 'latency' ? 'latency-budget' : 'constraint');

const isFull = ({ batch }: Facts): boolean => batch === null || batch.mean >= NEARLY_FULL_BATCH * batch.most;

function isNearBudget({ goal: { budget }, speeds }: StudyState, stands: Measurement): boolean {
  const { budgetLatencyMs } = speeds.comparable(stands);
  if (budget === null || budget.percentile !== budgetLatencyMs.percentile) return false;
  return budgetLatencyMs.value >= NEAR_BUDGET * budget.latencyMs;
}

function collectFacts(
  state: StudyState,
  best: Trial,
  stands: Measurement,
  { totalMs, parts, execution }: TimeSplit,
  bottleneck: StageBottleneck | null,
): Facts {
  const { shape } = best.candidate;
  const stage = limitingStage(state, best, stands, bottleneck);
  const { instances, dynamicBatching, maxBatchSize, maxQueueDelayNs } =
    (stage && lookUp(shape.members, stage.model)?.policy) || shape.policy;
  const engine = computeEngineLoad(stands, shape);
  const most = dynamicBatching ? maxBatchSize : 0;
  const meanBatch = stage ? stage.batchSize : (execution?.batchSize ?? null);
  const isDeviceFull = bottleneck?.device !== undefined && bottleneck.gain < MIN_INSTANCE_GAIN;
  return {
    ...(stage && { stage: stage.model }),
    ...(isDeviceFull && { device: bottleneck.device }),
    busyShare: stage ? stage.busy : computeBusyShare(stands, shape),
    instances,
    batch: meanBatch !== null && most > 1 ? { mean: meanBatch, most } : null,
    // An emulated server uses hardly any CPU, so its machine says nothing about the real one.
    cpuShare: state.server.emulated === null ? findShare(stands.device.cpuUtilizationPercent) : null,
    gpuShare: findShare(busiestGpuPercent(stands.device)),
    queueShare: parts && parts.queueMs / totalMs,
    outsideShare: parts && parts.outsideMs / totalMs,
    queueDelayMs: nsToMs(maxQueueDelayNs),
    ...(engine && { engine }),
    missed: missedConstraints(state.speeds.comparable(stands), best.candidate, state.goal)[0] ?? null,
    higher: findHigher(state, best, stands),
  };
}

/**
 * Returns the model that limits: the one that gains most from one more instance if its instances
 * are about as busy as any, else the busiest. null for one model, and without statistics of at
 * least two.
 */
function limitingStage(
  { started }: StudyState,
  { candidate }: Trial,
  stands: Measurement,
  bottleneck: StageBottleneck | null,
): StageSplit | null {
  if (!started.topology) return null;
  const splits = stageSplits(stands, started.topology, candidate.shape);
  const busiest = busiestStage(splits);
  if (!busiest || !bottleneck || bottleneck.gain < MIN_INSTANCE_GAIN) return busiest;
  const named = splits.find(({ model }) => model === bottleneck.stage);
  return named && (named.busy ?? 0) >= ABOUT_AS_BUSY * (busiest.busy ?? 0) ? named : busiest;
}

/** Returns the utilisation of the busiest GPU: the candidate may not use the others. */
function busiestGpuPercent({ gpus = [], gpuUtilizationPercent }: DeviceMetrics): number | undefined {
  const each = gpus.flatMap(({ utilizationPercent }) => utilizationPercent ?? []);
  return each.length > 1 ? Math.max(...each) : gpuUtilizationPercent;
}

/**
 * Returns the execution time over elapsed time and instances; null if the instances differ from
 * those in the config.
 */
function computeBusyShare({ server, durationMs }: Measurement, shape: CandidateShape): number | null {
  if (!server || server.batches.length === 0 || !isModelled(shape) || !(durationMs > 0)) return null;
  const busyMs =
    server.batches.reduce((sum, { executions, meanExecutionUs }) => sum + executions * meanExecutionUs, 0) / 1e3;
  const share = busyMs / durationMs / shape.policy.instances;
  return share >= 0 && share <= MAX_BUSY ? Math.min(1, share) : null;
}

const findShare = (percent: number | undefined): number | null =>
  percent !== undefined && percent >= 0 && percent <= 100 ? percent / 100 : null;

/** Returns the next higher measured level of the best, in the search or the final. */
function findHigher({ finals, goal, speeds }: StudyState, best: Trial, stands: Measurement): Limit['higher'] {
  const again = finals.filter(({ trial }) => trial === best.number).map(({ measurement }) => measurement);
  const [next] = [...best.measurements, ...again]
    .filter(
      ({ level, throughput }) => findInFlight(level) > findInFlight(stands.level) && Number.isFinite(throughput.value),
    )
    .sort((a, b) => findInFlight(a.level) - findInFlight(b.level));
  if (!next) return null;
  const { client, level, throughput } = next;
  return {
    level: level.value,
    ...(level.batch !== undefined && { batch: level.batch }),
    throughput: throughput.value,
    missed: client.bound ? null : (missedConstraints(speeds.comparable(next), best.candidate, goal)[0] ?? null),
    clientReason: client.bound ? (client.reason ?? 'it could not keep up') : null,
  };
}
