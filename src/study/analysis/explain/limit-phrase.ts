import { formatFigure, formatMs } from '../../../base/format.ts';
import type { Measurement } from '../../../profiler/measurement.ts';
import { metricsOf } from '../../goal/metrics/registry.ts';
import { describeConstraint, describeLevel } from '../../summary/describe.ts';
import type { Goal } from '../../types.ts';
import type { Limit } from './limit.ts';

/**
 * Returns the limit as a phrase without a tense, to follow both `limit was` and `limit now`. `stands`: the measurement that it limits, as compared.
 */
export function limitPhrase(limit: Limit, stands: Measurement, goal: Goal): string {
  const { kind, engine } = limit;
  switch (kind) {
    case 'client':
      return 'the load generator, not the server';
    case 'cpu':
      return `the CPU of the server's machine, ${percent(limit.cpuShare)} busy`;
    case 'compute':
      return `compute: ${busyPhrase(limit)}`;
    case 'kv-cache':
      return `the KV cache, ${percent(engine?.kvCacheShare)} full${waiting(engine?.waiting)}`;
    case 'sequences':
      return `${engine?.most} sequences at once, the most that it runs${waiting(engine?.waiting)}`;
    case 'queue-delay':
      return `the batching delay of ${formatMs(limit.queueDelayMs)}: ${percent(limit.queueShare)} of a request's time is in the queue`;
    case 'outside':
      return `outside the server: ${percent(limit.outsideShare)} of a request's time is network, front end and client`;
    case 'latency-budget':
      return `the latency budget: ${budgetPhrase(limit, stands, goal)}`;
    case 'constraint': {
      const missed = limit.missed ?? limit.higher?.missed;
      const where = limit.missed ? describeLevel(stands.level) : nextLevel(limit, stands);
      return missed ? `the goal: ${where} misses ${describeConstraint(missed, metricsOf(goal))}` : 'the goal';
    }
    case 'level-range':
      return `the load: ${describeLevel(stands.level)} is the highest that was allowed`;
    case 'unseen':
      return `not known: more load (${nextLevel(limit, stands)}) serves no more`;
    case 'none':
      return 'none seen in what was measured';
  }
}

function busyPhrase({ busyShare, instances, batch, gpuShare }: Limit): string {
  if (busyShare === null)
    return gpuShare === null ? 'more load serves no more' : `the GPU is ${percent(gpuShare)} used`;
  const who = instances === 1 ? 'one instance' : `${instances} instances`;
  const batches = batch ? `, in batches of ${formatFigure(batch.mean)} where ${batch.most} are allowed` : '';
  return `${who}, busy ${percent(busyShare)} of the time${batches}`;
}

function budgetPhrase({ missed, higher }: Limit, stands: Measurement, { budget }: Goal): string {
  const { percentile, value } = stands.budgetLatencyMs;
  if (!missed && higher?.missed) return `${nextLevel({ higher }, stands)} misses it`;
  return `p${percentile} ${formatMs(value)} of ${formatMs(budget?.latencyMs ?? value)} allowed`;
}

function nextLevel({ higher }: Pick<Limit, 'higher'>, { level }: Measurement): string {
  if (!higher) return 'a higher level';
  return describeLevel({ ...level, value: higher.level, ...(higher.batch !== undefined && { batch: higher.batch }) });
}

const waiting = (requests: number | null | undefined): string =>
  requests ? `, while ${formatFigure(requests)} requests wait` : '';

const percent = (share: number | null | undefined): string => `${Math.round(100 * (share ?? 0))} %`;
