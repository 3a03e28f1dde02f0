import { formatFigure, formatMs } from '#base/format.ts';
import type { ServerBreakdown } from '#profiler/server-figures.ts';
import { composingModels } from '#triton/config/ensemble-rules.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { cause, type WeighedCause } from './causes.ts';
import type { ServerWork } from './readings.ts';

/** The share of a request's time from which on one model is the slow one. */
const SLOW_SHARE = 0.5;

/** Returns the cause in an ensemble, if one of its models takes most of a request's time. */
export function pipelineCauses(
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
export function sequenceCauses(
  { sequence_batching: batching }: ModelConfig,
  { queueUs, requestUs }: ServerBreakdown,
): WeighedCause[] {
  if (!batching || queueUs < LARGE_SHARE * requestUs) return [];
  const evidence = `${formatFigure((100 * queueUs) / requestUs)} % of a request's time is queue`;
  return [cause('sequences', 'likely', requestUs / (requestUs - queueUs / 2), evidence)];
}
