import { latenciesOf } from '../../profiler/latency-summary.ts';
import type { Measurement, ServerBreakdown } from '../../profiler/measurement.ts';
import type { ModelConfig } from '../../triton/model-config.ts';

/** Where the mean time of a request went, in milliseconds; the three parts add up to `totalMs`. */
export interface TimeSplit {
  /** As the user of the model sees it: in an open loop from the time that a request was due. */
  readonly totalMs: number;
  /** What the server's statistics say of it; null without usable ones. */
  readonly parts: {
    readonly queueMs: number;
    /** Input, inference and output. */
    readonly computeMs: number;
    /** All the rest: the network, the server's front end, and the client. */
    readonly outsideMs: number;
  } | null;
  /** The mean execution; null where the server does not tell. */
  readonly execution: { readonly batchSize: number; readonly meanMs: number } | null;
}

const US_PER_MS = 1e3;

/** The split of one measurement of a candidate; null when nothing was served in it. */
export function timeSplitOf(measurement: Measurement, config: ModelConfig): TimeSplit | null {
  const totalMs = latenciesOf(measurement).avg;
  if (!(totalMs > 0 && totalMs < Number.POSITIVE_INFINITY)) return null;
  const inside = config.ensemble_scheduling ? membersMs(measurement) : ownMs(measurement.server);
  return { totalMs, parts: inside && partsOf(totalMs, inside), execution: executionOf(measurement.server) };
}

interface Inside {
  readonly queueMs: number;
  readonly computeMs: number;
}

/** Per answered request: those that the response cache answered neither wait nor compute, and the means leave them out. */
function ownMs(server: ServerBreakdown | null): Inside | null {
  if (!server || server.successCount === 0) return null;
  const executed = Math.max(0, 1 - server.cache.hitCount / server.successCount) / US_PER_MS;
  const computeUs = server.computeInputUs + server.computeInferUs + server.computeOutputUs;
  return { queueMs: server.queueUs * executed, computeMs: computeUs * executed };
}

/** An ensemble neither queues nor computes itself: its members do, each as often as it was asked. */
function membersMs({ server, composing = [] }: Measurement): Inside | null {
  const requests = server?.successCount ?? 0;
  if (requests === 0 || composing.length === 0) return null;
  const members = composing.map((member) => ({ ...ownMs(member), times: member.successCount / requests }));
  return {
    queueMs: members.reduce((sum, { queueMs = 0, times }) => sum + queueMs * times, 0),
    computeMs: members.reduce((sum, { computeMs = 0, times }) => sum + computeMs * times, 0),
  };
}

/** The client's clock and the server's agree to some per cent; members that ran side by side took more than passed. */
const MOST_EXCESS = 1.05;

function partsOf(totalMs: number, { queueMs, computeMs }: Inside): TimeSplit['parts'] {
  const insideMs = queueMs + computeMs;
  if (!(queueMs >= 0 && computeMs >= 0 && insideMs > 0 && insideMs <= MOST_EXCESS * totalMs)) return null;
  const scale = Math.min(1, totalMs / insideMs);
  return { queueMs: queueMs * scale, computeMs: computeMs * scale, outsideMs: Math.max(0, totalMs - insideMs) };
}

function executionOf(server: ServerBreakdown | null): TimeSplit['execution'] {
  const batches = server?.batches ?? [];
  const executions = batches.reduce((sum, batch) => sum + batch.executions, 0);
  const samples = batches.reduce((sum, batch) => sum + batch.executions * batch.size, 0);
  const totalUs = batches.reduce((sum, batch) => sum + batch.executions * batch.meanExecutionUs, 0);
  if (![executions, samples, totalUs].every((sum) => sum > 0 && Number.isFinite(sum))) return null;
  return { batchSize: samples / executions, meanMs: totalUs / executions / US_PER_MS };
}
