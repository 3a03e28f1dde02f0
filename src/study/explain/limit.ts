import { isModelled } from '../../perfmodel/observations.ts';
import type { Measurement } from '../../profiler/measurement.ts';
import { instancesOf } from '../../triton/instances.ts';
import type { ModelConfig } from '../../triton/model-config.ts';
import { missedConstraints } from '../goal.ts';
import type { StudyState } from '../state.ts';
import type { Constraint, Trial } from '../types.ts';
import type { TimeSplit } from './time-split.ts';

/** What keeps the best from serving more. */
export type LimitKind =
  | 'client' // the load generator itself
  | 'cpu' // the server's machine has no CPU time left
  | 'compute' // every instance always executes, with batches as large as they get
  | 'queue-delay' // requests wait for larger batches while instances are idle
  | 'outside' // most time goes outside the server's queue and compute
  | 'latency-budget' // it is missed, or would be with more load
  | 'constraint' // the same of another constraint of the goal
  | 'level-range' // no higher load was allowed
  | 'unseen' // more load serves no more, and nothing that was measured tells why
  | 'none'; // nothing that was measured is at its limit

export interface Limit {
  readonly kind: LimitKind;
  /** Share of the time that an instance executes, from 0 to 1; null where the server does not tell. */
  readonly busyShare: number | null;
  readonly instances: number;
  /** Samples in the mean execution, and the most there may be; null without batching or statistics. */
  readonly batch: { readonly mean: number; readonly most: number } | null;
  /** Of the machine that the server runs on, from 0 to 1; null when not measured. */
  readonly cpuShare: number | null;
  readonly gpuShare: number | null;
  /** Of the mean time of a request, from 0 to 1; null where the server does not tell. */
  readonly queueShare: number | null;
  readonly outsideShare: number | null;
  readonly queueDelayMs: number;
  /** The first constraint of the goal that the best itself misses; null when it meets it. */
  readonly missed: Constraint | null;
  /** What was measured of the best at a higher level, and why that is no better; null when nothing was. */
  readonly higher: {
    readonly level: number;
    readonly throughput: number;
    readonly missed: Constraint | null;
    readonly clientReason: string | null;
  } | null;
}

const BUSY = 0.85;
/** Statistics and traffic are of the same time but for its edges: more than this, and instances are counted wrongly. */
const MOST_BUSY = 1.1;
const NEARLY_FULL_BATCH = 0.8;
const CPU_FULL = 0.9;
/** A GPU counts as used while anything runs on it, so a high figure alone is no limit. */
const GPU_FULL = 0.95;
const LONG_QUEUE = 0.2;
const MOSTLY_OUTSIDE = 0.5;
/** Requests that wait for the delay wait for a fair part of it, in the mean. */
const PART_OF_DELAY = 0.25;
/** A higher level that serves no more than this many times as much serves no more. */
export const NO_MORE = 1.05;
const NEAR_BUDGET = 0.9;

/** What limits the best at the measurement that stands for it. */
export function limitOf(state: StudyState, best: Trial, stands: Measurement, split: TimeSplit): Limit {
  const facts = factsOf(state, best, stands, split);
  return { ...facts, kind: kindOf(state, facts, stands, split) };
}

type Facts = Omit<Limit, 'kind'>;

function kindOf(state: StudyState, facts: Facts, stands: Measurement, { parts }: TimeSplit): LimitKind {
  const { busyShare, cpuShare, gpuShare, queueShare, outsideShare, queueDelayMs, higher } = facts;
  if (stands.client.bound || higher?.clientReason) return 'client';
  if (cpuShare !== null && cpuShare >= CPU_FULL) return 'cpu';
  if (facts.missed) return kindOfMissed(facts.missed);
  const isBusy = busyShare !== null && busyShare >= BUSY;
  const gainsNothing = higher !== null && higher.throughput <= NO_MORE * stands.throughput.value;
  if (isBusy && (isFull(facts) || gainsNothing)) return 'compute';
  if (gainsNothing && (gpuShare ?? 0) >= GPU_FULL) return 'compute';
  const waits = queueDelayMs > 0 && (parts?.queueMs ?? 0) >= PART_OF_DELAY * queueDelayMs;
  if (busyShare !== null && !isBusy && waits && (queueShare ?? 0) >= LONG_QUEUE) return 'queue-delay';
  if (higher?.missed) return kindOfMissed(higher.missed);
  const isOutside = outsideShare !== null && outsideShare >= MOSTLY_OUTSIDE;
  if (gainsNothing) return isOutside ? 'outside' : 'unseen';
  if (isNearBudget(state, stands)) return 'latency-budget';
  if (stands.level.value >= state.started.levels.high) return 'level-range';
  return isOutside ? 'outside' : 'none';
}

const kindOfMissed = ({ metric }: Constraint): LimitKind => (metric === 'latency' ? 'latency-budget' : 'constraint');

const isFull = ({ batch }: Facts): boolean => batch === null || batch.mean >= NEARLY_FULL_BATCH * batch.most;

function isNearBudget({ goal: { budget } }: StudyState, { budgetLatencyMs }: Measurement): boolean {
  if (budget === null || budget.percentile !== budgetLatencyMs.percentile) return false;
  return budgetLatencyMs.value >= NEAR_BUDGET * budget.latencyMs;
}

function factsOf(state: StudyState, best: Trial, stands: Measurement, { totalMs, parts, execution }: TimeSplit): Facts {
  const { config } = best.candidate;
  const most = config.dynamic_batching ? (config.max_batch_size ?? 0) : 0;
  return {
    busyShare: busyShareOf(stands, config),
    instances: instancesOf(config),
    batch: execution && most > 1 ? { mean: execution.batchSize, most } : null,
    // An emulated server takes hardly any CPU: what its machine does says nothing of the one that it is like.
    cpuShare: state.server.emulated === null ? shareOf(stands.device.cpuUtilizationPercent) : null,
    gpuShare: shareOf(stands.device.gpuUtilizationPercent),
    queueShare: parts && parts.queueMs / totalMs,
    outsideShare: parts && parts.outsideMs / totalMs,
    queueDelayMs: Number(config.dynamic_batching?.max_queue_delay_microseconds ?? 0) / 1e3,
    missed: missedConstraints(stands, best.candidate, state.goal)[0] ?? null,
    higher: higherOf(state, best, stands),
  };
}

/** Time in executions over time and instances. Where instances are not what the config counts, nothing is said. */
function busyShareOf({ server, durationMs }: Measurement, config: ModelConfig): number | null {
  if (!server || server.batches.length === 0 || !isModelled(config) || !(durationMs > 0)) return null;
  const busyMs =
    server.batches.reduce((sum, { executions, meanExecutionUs }) => sum + executions * meanExecutionUs, 0) / 1e3;
  const share = busyMs / durationMs / instancesOf(config);
  return share >= 0 && share <= MOST_BUSY ? Math.min(1, share) : null;
}

const shareOf = (percent: number | undefined): number | null =>
  percent !== undefined && percent >= 0 && percent <= 100 ? percent / 100 : null;

/** The next higher level that was measured of the best, in the search or in the final. */
function higherOf({ finals, goal }: StudyState, best: Trial, stands: Measurement): Limit['higher'] {
  const again = finals.filter(({ trial }) => trial === best.number).map(({ measurement }) => measurement);
  const [next] = [...best.measurements, ...again]
    .filter(({ level, throughput }) => level.value > stands.level.value && Number.isFinite(throughput.value))
    .sort((a, b) => a.level.value - b.level.value);
  if (!next) return null;
  const { client, level, throughput } = next;
  return {
    level: level.value,
    throughput: throughput.value,
    missed: client.bound ? null : (missedConstraints(next, best.candidate, goal)[0] ?? null),
    clientReason: client.bound ? (client.reason ?? 'it could not keep up') : null,
  };
}
