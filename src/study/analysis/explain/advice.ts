import { formatFigure, formatMs, formatRate } from '#base/format.ts';
import { findGpuMemory } from '#perfmodel/gpu-memory.ts';
import { describeLevel } from '../../summary/describe.ts';
import { chooseRateUnit } from '../../summary/rate-unit.ts';
import type { Trial } from '../../types.ts';
import { listAttempts } from '../memory-attempts.ts';
import { measuredFootprint } from '../memory-footprint.ts';
import { largerIn } from './changed-parameters.ts';
import type { LimitingFactor } from './limit-words.ts';

/** Below this utilisation a machine or a GPU has room for more instances. */
const ROOM = 0.8;
const WORTH_A_BUDGET = 1.05;
const MOSTLY_COMPUTE = 0.5;

/** Returns the advice for more instances if the search space ends while there is room for them. */
export function moreInstances({ state: { started }, trial: { candidate }, limit }: LimitingFactor): string[] {
  const { gpuShare, cpuShare, instances } = limit;
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

export function cheaperModel({ trial, limit: { stage } }: LimitingFactor): string {
  const model = stage === undefined ? 'a cheaper model' : `a cheaper model for ${stage}`;
  return isOnGpu(trial.candidate)
    ? `${model} (lower precision, a compiled engine), or a faster GPU`
    : `${model} (quantised, an optimised graph, cheaper code), or faster cores`;
}

/** Returns the advice for more memory if candidates did not fit, or larger ones would not. */
export function moreMemory(limitingFactor: LimitingFactor): string[] {
  const refused = limitingFactor.state.trials.filter(({ failure }) => failure?.kind === 'out-of-memory').length;
  if (refused === 0) return gpuMemory(limitingFactor);
  return [`more memory: ${refused === 1 ? '1 candidate' : `${refused} candidates`} did not fit`];
}

/**
 * Returns the advice for the next number of instances in the space, if nothing was refused because
 * only configs that fit were tried.
 */
function gpuMemory({ state, trial: { candidate, measurements } }: LimitingFactor): string[] {
  const { instances, maxBatchSize } = candidate.shape.policy;
  const next = Math.min(...(largerIn(state.started, candidate, 'instances') ?? []));
  const [memory, footprint] = [findGpuMemory(measurements), measuredFootprint(listAttempts(state))];
  if (!memory?.totalMib || !footprint || !Number.isFinite(next)) return [];
  const perInstanceMib = footprint.instance_mib + Math.max(1, maxBatchSize) * footprint.sample_mib;
  const neededMib = memory.usedMib + (next - instances) * perInstanceMib;
  return neededMib > memory.totalMib
    ? [
        `a GPU with more memory: ${next} instances would need about ${formatFigure(neededMib)} of ${formatFigure(memory.totalMib)} MiB`,
      ]
    : [];
}

/** Returns the advice for load levels above the highest one that was allowed. */
export const higherLevels = ({ measurement: { level } }: LimitingFactor): string =>
  `load levels above ${describeLevel(level)} (--${level.mode}${level.batch === undefined ? '' : ' or --batch-size'})`;

/**
 * Returns the advice for a looser budget, and for a cheaper model if compute takes most of a
 * request's time.
 */
export const lowerLatency = (limitingFactor: LimitingFactor): string[] => [
  ...looserBudget(limitingFactor),
  ...(isMostlyCompute(limitingFactor) ? [cheaperModel(limitingFactor)] : []),
];

const isMostlyCompute = ({ split: { totalMs, parts } }: LimitingFactor): boolean =>
  parts !== null && parts.computeMs >= MOSTLY_COMPUTE * totalMs;

/** Returns the next point of the front, over the budget, that serves clearly more. */
function looserBudget({ state: { front, goal }, measurement: { throughput } }: LimitingFactor): string[] {
  const over = goal.budget?.latencyMs ?? Number.POSITIVE_INFINITY;
  const next = front.find(({ measurement: { throughput: rate, budgetLatencyMs: latency } }) => {
    const isMore = rate.value >= WORTH_A_BUDGET * throughput.value && Number.isFinite(rate.value);
    return isMore && latency.value > over && Number.isFinite(latency.value);
  });
  if (!next) return [];
  const { trial, measurement } = next;
  const { percentile, value } = measurement.budgetLatencyMs;
  const rate = formatRate(measurement.throughput.value, chooseRateUnit(measurement));
  const who = trial.number === 0 ? 'the original config' : `trial ${trial.number}`;
  return [
    `a looser budget: at p${percentile} ${formatMs(value)} ${who} serves ${rate} (${describeLevel(measurement.level)})`,
  ];
}
