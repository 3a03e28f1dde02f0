import { formatMs, formatRate } from '../../base/format.ts';
import type { Measurement } from '../../profiler/measurement.ts';
import { describeLevel } from '../describe.ts';
import type { StudyState } from '../state.ts';
import type { Trial } from '../types.ts';
import { isLargestIn } from './knobs.ts';
import type { Limit } from './limit.ts';
import type { TimeSplit } from './time-split.ts';

/** Below this, a machine or a GPU has room for more instances. */
const ROOM = 0.8;
const WORTH_A_BUDGET = 1.05;
const MOSTLY_COMPUTE = 0.5;

/** What to try outside the config, by what limits the best; empty where nothing that was measured points anywhere. */
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
      return [...moreInstances(state, best, limit), cheaperModel(best), ...memory(state)];
    case 'queue-delay':
      return ['more requests at once: they fill the batches sooner'];
    case 'outside':
      return ['smaller tensors, a nearer client, or --shared-memory system where the client runs on the same machine'];
    case 'latency-budget':
      return [...looserBudget(state, stands), ...(isMostlyCompute(split) ? [cheaperModel(best)] : [])];
    case 'level-range':
      return [`load levels above ${describeLevel(stands.level)} (--${stands.level.mode})`];
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
  return hasRoom && isLargestIn(started, candidate, 'instances')
    ? [
        `more than ${instances} instances: the search space ends there, and the ${isOnGpu(candidate) ? 'GPU' : 'CPU'} is used to ${Math.round(used * 100)} %`,
      ]
    : [];
}

/** Only the server's own list of instance groups tells where they run. */
const isOnGpu = ({ config }: Trial['candidate']): boolean =>
  (config.instance_group ?? []).some(({ kind }) => kind === 'KIND_GPU');

const cheaperModel = ({ candidate }: Trial): string =>
  isOnGpu(candidate)
    ? 'a cheaper model (lower precision, a compiled engine), or a faster GPU'
    : 'a cheaper model (quantised, an optimised graph, cheaper code), or faster cores';

function memory({ trials }: StudyState): string[] {
  const refused = trials.filter(({ failure }) => failure?.kind === 'out-of-memory').length;
  if (refused === 0) return [];
  return [`more memory: ${refused === 1 ? '1 candidate' : `${refused} candidates`} did not fit`];
}

const isMostlyCompute = ({ totalMs, parts }: TimeSplit): boolean =>
  parts !== null && parts.computeMs >= MOSTLY_COMPUTE * totalMs;

/** The next point of the front that serves clearly more, over the budget. */
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
