import { formatFigure, formatMs, formatRate } from '../../../base/format.ts';
import { gpuMemoryOf } from '../../../perfmodel/memory/gpu-memory.ts';
import type { Measurement } from '../../../profiler/measurement.ts';
import type { StudyState } from '../../records/state.ts';
import { describeLevel } from '../../summary/describe.ts';
import type { Trial } from '../../types.ts';
import { attemptsOf } from '../memory/attempts.ts';
import { measuredFootprint } from '../memory/footprint.ts';
import { largerIn } from './changed-parameters.ts';
import type { Limit } from './limit.ts';
import type { TimeSplit } from './time-split.ts';

/** Below this utilisation a machine or a GPU has room for more instances. */
const ROOM = 0.8;
const WORTH_A_BUDGET = 1.05;
const MOSTLY_COMPUTE = 0.5;

/** Returns what else to try besides the config, given what limits the best; empty if no measurement suggests anything. */
export function adviceOf(
  state: StudyState,
  best: Trial,
  stands: Measurement,
  split: TimeSplit,
  limit: Limit,
): readonly string[] {
  switch (limit.kind) {
    case 'client':
      return ['more --client-threads, or a client on a machine of its own'];
    case 'cpu':
      return ['more CPU cores, or a machine of its own for the client if it shares this one'];
    case 'compute':
      return [...moreInstances(state, best, limit), cheaperModel(best), ...memory(state, best)];
    case 'queue-delay':
      return ['more requests at once: they fill the batches sooner'];
    case 'outside':
      return ['smaller tensors, a nearer client, or --shared-memory system where the client runs on the same machine'];
    case 'latency-budget':
      return [...looserBudget(state, stands), ...(isMostlyCompute(split) ? [cheaperModel(best)] : [])];
    case 'level-range':
      return [
        `load levels above ${describeLevel(stands.level)} (--${stands.level.mode}${stands.level.batch === undefined ? '' : ' or --batch-size'})`,
      ];
    case 'kv-cache':
    case 'sequences':
    case 'constraint':
    case 'unseen':
    case 'none':
      return [];
  }
}

function moreInstances(
  { started }: StudyState,
  { candidate }: Trial,
  { gpuShare, cpuShare, instances }: Limit,
): string[] {
  const used = isOnGpu(candidate) ? gpuShare : cpuShare;
  const hasRoom = used !== null && used < ROOM;
  return hasRoom && largerIn(started, candidate, 'instances')?.length === 0
    ? [
        `more than ${instances} instances: the search space ends there, and the ${isOnGpu(candidate) ? 'GPU' : 'CPU'} is used to ${Math.round(used * 100)} %`,
      ]
    : [];
}

/** True if the server places the instances on a GPU. */
const isOnGpu = ({ shape }: Trial['candidate']): boolean => shape.groups.some(({ device }) => device === 'gpu');

const cheaperModel = ({ candidate }: Trial): string =>
  isOnGpu(candidate)
    ? 'a cheaper model (lower precision, a compiled engine), or a faster GPU'
    : 'a cheaper model (quantised, an optimised graph, cheaper code), or faster cores';

function memory(state: StudyState, best: Trial): string[] {
  const refused = state.trials.filter(({ failure }) => failure?.kind === 'out-of-memory').length;
  if (refused === 0) return gpuMemory(state, best);
  return [`more memory: ${refused === 1 ? '1 candidate' : `${refused} candidates`} did not fit`];
}

/** Returns the advice for the next number of instances in the space, if nothing was refused because only configs that fit were tried. */
function gpuMemory(state: StudyState, { candidate, measurements }: Trial): string[] {
  const { instances, maxBatchSize } = candidate.shape.policy;
  const next = Math.min(...(largerIn(state.started, candidate, 'instances') ?? []));
  const [memory, footprint] = [gpuMemoryOf(measurements), measuredFootprint(attemptsOf(state))];
  if (!memory?.totalMib || !footprint || !Number.isFinite(next)) return [];
  const perInstanceMib = footprint.instance_mib + Math.max(1, maxBatchSize) * footprint.sample_mib;
  const neededMib = memory.usedMib + (next - instances) * perInstanceMib;
  return neededMib > memory.totalMib
    ? [
        `a GPU with more memory: ${next} instances would need about ${formatFigure(neededMib)} of ${formatFigure(memory.totalMib)} MiB`,
      ]
    : [];
}

const isMostlyCompute = ({ totalMs, parts }: TimeSplit): boolean =>
  parts !== null && parts.computeMs >= MOSTLY_COMPUTE * totalMs;

/** Returns the next point of the front, over the budget, that serves clearly more. */
function looserBudget({ front, goal }: StudyState, { throughput }: Measurement): string[] {
  const over = goal.budget?.latencyMs ?? Number.POSITIVE_INFINITY;
  const next = front.find(({ measurement: { throughput: rate, budgetLatencyMs: latency } }) => {
    const isMore = rate.value >= WORTH_A_BUDGET * throughput.value && Number.isFinite(rate.value);
    return isMore && latency.value > over && Number.isFinite(latency.value);
  });
  if (!next) return [];
  const { trial, measurement } = next;
  const { percentile, value } = measurement.budgetLatencyMs;
  const rate = formatRate(measurement.throughput.value);
  return [
    `a looser budget: at p${percentile} ${formatMs(value)} trial ${trial.number} serves ${rate} (${describeLevel(measurement.level)})`,
  ];
}
