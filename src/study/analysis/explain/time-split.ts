import { summarizeLatencies } from '#profiler/latency-summary.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { ServerBreakdown } from '#profiler/server-figures.ts';
import type { CandidateShape } from '#space/types.ts';
import type { TimeSplit } from '../../summary/explanation-schema.ts';

const US_PER_MS = 1e3;

/** Returns the split of one measurement; null when nothing was served. */
export function splitTime(measurement: Measurement, shape: CandidateShape): TimeSplit | null {
  const totalMs = summarizeLatencies(measurement).avg;
  if (!(totalMs > 0 && totalMs < Number.POSITIVE_INFINITY)) return null;
  const inside = isEnsemble(measurement, shape) ? membersMs(measurement) : ownMs(measurement.server);
  return { totalMs, parts: inside && findParts(totalMs, inside), execution: findExecution(measurement.server) };
}

/**
 * True if the front of several models has no instances of its own. A model that calls others
 * includes their time in its own.
 */
function isEnsemble({ composing = [] }: Measurement, { scheduling, members = {} }: CandidateShape): boolean {
  if (scheduling !== 'network') return scheduling === 'ensemble';
  return Object.keys(members).every((model) => composing.some((each) => each.model === model));
}

interface Inside {
  readonly queueMs: number;
  readonly computeMs: number;
}

/**
 * Returns the means per answered request. Cached answers neither wait nor compute, and the
 * statistics leave them out.
 */
function ownMs(server: ServerBreakdown | null): Inside | null {
  if (!server || server.successCount === 0) return null;
  const executed = Math.max(0, 1 - server.cache.hitCount / server.successCount) / US_PER_MS;
  const computeUs = server.computeInputUs + server.computeInferUs + server.computeOutputUs;
  return { queueMs: server.queueUs * executed, computeMs: computeUs * executed };
}

/**
 * Sums over an ensemble's members, weighted by how often each was called: the ensemble itself
 * neither queues nor computes.
 */
function membersMs({ server, composing = [] }: Measurement): Inside | null {
  const requests = server?.successCount ?? 0;
  if (requests === 0 || composing.length === 0) return null;
  const members = composing.map((member) => ({ ...ownMs(member), times: member.successCount / requests }));
  return {
    queueMs: members.reduce((sum, { queueMs = 0, times }) => sum + queueMs * times, 0),
    computeMs: members.reduce((sum, { computeMs = 0, times }) => sum + computeMs * times, 0),
  };
}

/**
 * The parts may exceed the total by this factor: the clocks agree to some per cent; members that
 * ran in parallel exceed it by more.
 */
const MAX_EXCESS = 1.05;

function findParts(totalMs: number, { queueMs, computeMs }: Inside): TimeSplit['parts'] {
  const insideMs = queueMs + computeMs;
  if (!(queueMs >= 0 && computeMs >= 0 && insideMs > 0 && insideMs <= MAX_EXCESS * totalMs)) return null;
  const scale = Math.min(1, totalMs / insideMs);
  return { queueMs: queueMs * scale, computeMs: computeMs * scale, outsideMs: Math.max(0, totalMs - insideMs) };
}

function findExecution(server: ServerBreakdown | null): TimeSplit['execution'] {
  const batches = server?.batches ?? [];
  const executions = batches.reduce((sum, batch) => sum + batch.executions, 0);
  const samples = batches.reduce((sum, batch) => sum + batch.executions * batch.size, 0);
  const totalUs = batches.reduce((sum, batch) => sum + batch.executions * batch.meanExecutionUs, 0);
  if (![executions, samples, totalUs].every((sum) => sum > 0 && Number.isFinite(sum))) return null;
  return { batchSize: samples / executions, meanMs: totalUs / executions / US_PER_MS };
}
