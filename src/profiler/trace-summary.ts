import { mean, quantileSorted } from 'simple-statistics';
import { TrituneError } from '#base/errors.ts';
import { NS_PER_US } from '#base/units.ts';
import type { ReadTraces, Trace } from '#triton/control/trace-file.ts';
import { computeSpans, type SpanName, type SpansUs, spanNames } from './trace-spans.ts';

export interface SpanFigures {
  /** Requests with this part. */
  readonly count: number;
  readonly avgUs: number;
  readonly p50Us: number;
  readonly p90Us: number;
  readonly p95Us: number;
  readonly p99Us: number;
  readonly maxUs: number;
}

/**
 * The origin of a request: a protocol, the server itself, or a parent request that the files do not
 * contain.
 */
export type RequestOrigin = 'grpc' | 'http' | 'in-process' | 'part of another';

/** Requests of one kind to one model, or the work of one model for such requests to an ensemble. */
export interface TraceGroup {
  readonly kind: RequestOrigin;
  /** Path from the requested model to this one: several names if this is a model of an ensemble. */
  readonly models: readonly string[];
  readonly version: number;
  readonly requests: number;
  readonly spans: { readonly [name in SpanName]?: SpanFigures };
}

/** Executions: requests that were computed at the same moments form one batch. */
export interface TracedExecutions {
  readonly model: string;
  readonly version: number;
  readonly executions: number;
  readonly requests: number;
  /** The largest number of requests in one execution. */
  readonly largest: number;
}

export interface TracedRequest {
  readonly id: number;
  readonly parentId: number | null;
  readonly kind: RequestOrigin;
  readonly models: readonly string[];
  readonly version: number;
  readonly requestId: string;
  /** Microseconds since the first event of all traces. */
  readonly startUs: number;
  readonly spansUs: SpansUs;
  /**
   * Moments in chronological order, in microseconds since the request's first one; absent unless
   * requested.
   */
  readonly moments?: readonly TracedMoment[];
}

export interface TracedMoment {
  readonly name: string;
  readonly atUs: number;
}

/** The inputs of a model's traced requests, where the level TENSORS was traced. */
export interface TracedInput {
  readonly model: string;
  readonly input: string;
  /** As sent, `DATATYPE [D1,D2]` with the batch dimension; the most frequent first. */
  readonly shapes: readonly { readonly shape: string; readonly requests: number }[];
}

export interface TraceSummary {
  readonly schemaVersion: 1;
  readonly inputs: readonly TracedInput[];
  readonly groups: readonly TraceGroup[];
  readonly executions: readonly TracedExecutions[];
  /** Ordered by start; requests to an ensemble's models follow their parent. */
  readonly requests: readonly TracedRequest[];
  readonly nameless: number;
  readonly timeless: number;
  readonly unknownMoments: readonly string[];
  readonly unfinished: readonly string[];
}

/**
 * Summarises the times of traced requests, and includes their moments if `withMoments` is set.
 * Errors: INPUT_INVALID for a request that is its own ancestor.
 */
export function summarizeTraces({ traces, ...rest }: ReadTraces, withMoments = false): TraceSummary {
  const requests = listRequests(traces, withMoments);
  const groups = listGroups(requests);
  return {
    schemaVersion: 1,
    inputs: listInputs(traces),
    groups,
    executions: listExecutions(traces),
    requests,
    ...rest,
  };
}

/** The different shapes of an input to list. */
const MAX_SHAPES = 10;

function listInputs(traces: readonly Trace[]): readonly TracedInput[] {
  const byModel = Map.groupBy(traces, ({ model }) => model);
  return [...byModel].flatMap(([model, ofModel]) => {
    const sent = ofModel.flatMap(({ inputs }) => [...inputs]);
    const byInput = Map.groupBy(sent, ([input]) => input);
    return [...byInput].map(([input, each]) => {
      const byShape = Map.groupBy(each, ([, shape]) => shape);
      const counts = [...byShape].map(([shape, { length }]) => ({ shape, requests: length }));
      return { model, input, shapes: counts.sort((a, b) => b.requests - a.requests).slice(0, MAX_SHAPES) };
    });
  });
}

/** Deeper than any nested ensembles, and shallow enough for a list of names per request. */
const MAX_DEPTH = 64;

interface Placed {
  readonly trace: Trace;
  readonly kind: RequestOrigin;
  readonly models: readonly string[];
}

/** Returns each request followed by its parts, ordered by start. */
function listRequests(traces: readonly Trace[], withMoments: boolean): readonly TracedRequest[] {
  const starts = new Map(traces.map((trace) => [trace, startNs(trace)]));
  const sorted = [...traces].sort((a, b) => (starts.get(a) as number) - (starts.get(b) as number) || a.id - b.id);
  const zeroNs = starts.get(sorted[0] as Trace) ?? 0;
  const parts = Map.groupBy(sorted, ({ parentId }) => parentId);
  const known = new Set(traces.map(({ id }) => id));
  const isPart = ({ parentId }: Trace): boolean => parentId !== null && known.has(parentId);
  const requests: TracedRequest[] = [];
  // The last one is taken next.
  const waiting: Placed[] = sorted
    .filter((trace) => !isPart(trace))
    .map((trace) => ({ trace, kind: toKind(trace), models: [trace.model] }))
    .reverse();
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { trace, kind, models } = next;
    if (models.length > MAX_DEPTH) throw nested(`request ${trace.id} is nested more than ${MAX_DEPTH} deep`);
    const { id, parentId, version, requestId } = trace;
    const startUs = Math.max(0, ((starts.get(trace) as number) - zeroNs) / NS_PER_US);
    const moments = withMoments && { moments: listMoments(trace) };
    requests.push({
      id,
      parentId,
      kind,
      models,
      version,
      requestId,
      startUs,
      spansUs: computeSpans(trace),
      ...moments,
    });
    const inner = parts.get(id)?.map((part): Placed => ({ trace: part, kind, models: [...models, part.model] })) ?? [];
    for (const part of inner.reverse()) waiting.push(part);
  }
  if (requests.length === traces.length) return requests;
  throw nested(`${traces.length - requests.length} requests contain themselves`);
}

/** Excludes the wait for a gRPC call's first byte. 0 for a trace without moments. */
function startNs({ momentsNs }: Trace): number {
  const moments = [...momentsNs].filter(([name]) => name !== 'GRPC_WAITREAD_START').map(([, ns]) => ns);
  return moments.length > 0 ? Math.min(...moments) : 0;
}

function toKind({ momentsNs, parentId }: Trace): RequestOrigin {
  if (parentId !== null) return 'part of another';
  const names = [...momentsNs.keys()];
  if (names.some((name) => name.startsWith('GRPC_'))) return 'grpc';
  return names.some((name) => name.startsWith('HTTP_')) ? 'http' : 'in-process';
}

function listMoments({ momentsNs }: Trace): readonly TracedMoment[] {
  const sorted = [...momentsNs].sort(([, a], [, b]) => a - b);
  const zeroNs = sorted[0]?.[1] ?? 0;
  return sorted.map(([name, ns]) => ({ name, atUs: (ns - zeroNs) / NS_PER_US }));
}

/** Groups requests by kind; an ensemble's models follow the ensemble. */
function listGroups(requests: readonly TracedRequest[]): readonly TraceGroup[] {
  const groups = Map.groupBy(requests, ({ kind, models, version }) => JSON.stringify([kind, ...models, version]));
  return [...groups.values()].map((members): TraceGroup => {
    const { kind, models, version } = members[0] as TracedRequest;
    const figures = spanNames.flatMap((name) => {
      const us = members.flatMap(({ spansUs }) => spansUs[name] ?? []).sort((a, b) => a - b);
      return us.length > 0 ? [[name, summarizeFigures(us)]] : [];
    });
    return {
      kind,
      models,
      version,
      requests: members.length,
      spans: Object.fromEntries(figures) as TraceGroup['spans'],
    };
  });
}

/** Summarises sorted values, in microseconds. */
const summarizeFigures = (us: readonly number[]): SpanFigures => {
  const quantile = (p: number): number => quantileSorted(us as number[], p);
  return {
    count: us.length,
    avgUs: mean(us as number[]),
    p50Us: quantile(0.5),
    p90Us: quantile(0.9),
    p95Us: quantile(0.95),
    p99Us: quantile(0.99),
    maxUs: us[us.length - 1] as number,
  };
};

function listExecutions(traces: readonly Trace[]): readonly TracedExecutions[] {
  const computed = traces.filter(({ momentsNs }) => momentsNs.has('COMPUTE_START') && momentsNs.has('COMPUTE_END'));
  const byModel = Map.groupBy(computed, ({ model, version }) => JSON.stringify([model, version]));
  return [...byModel.values()].map((traces): TracedExecutions => {
    const { model, version } = traces[0] as Trace;
    const at = ({ momentsNs }: Trace): string => `${momentsNs.get('COMPUTE_START')}-${momentsNs.get('COMPUTE_END')}`;
    const batches = [...Map.groupBy(traces, at).values()];
    const largest = batches.reduce((most, { length }) => Math.max(most, length), 0);
    return { model, version, executions: batches.length, requests: traces.length, largest };
  });
}

const nested = (fault: string): TrituneError =>
  new TrituneError(
    'INPUT_INVALID',
    `the traces contradict themselves: ${fault}`,
    'give files of one run of one server',
  );
