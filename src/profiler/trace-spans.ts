import { NS_PER_US } from '#base/units.ts';
import type { Trace } from '#triton/control/trace-file.ts';

/**
 * The parts of a request's time, each between two moments. `total` is the server's view of the
 * call, from its last byte read to its reply sent; a gRPC call waits for its bytes before that.
 * `compute` is input, infer and output together.
 */
const spans = {
  total: [
    ['HTTP_RECV_START', 'HTTP_SEND_END'],
    ['GRPC_WAITREAD_END', 'GRPC_SEND_END'],
  ],
  receive: [['HTTP_RECV_START', 'HTTP_RECV_END']],
  request: [['REQUEST_START', 'REQUEST_END']],
  queue: [['QUEUE_START', 'COMPUTE_START']],
  compute: [['COMPUTE_START', 'COMPUTE_END']],
  computeInput: [['COMPUTE_START', 'COMPUTE_INPUT_END']],
  computeInfer: [['COMPUTE_INPUT_END', 'COMPUTE_OUTPUT_START']],
  computeOutput: [['COMPUTE_OUTPUT_START', 'COMPUTE_END']],
  send: [
    ['HTTP_SEND_START', 'HTTP_SEND_END'],
    ['GRPC_SEND_START', 'GRPC_SEND_END'],
  ],
} as const;

/**
 * The time within a part that none of its inner parts covers: `overhead` of the whole call
 * (protocol and hand-over), `requestOverhead` of the request inside the server. A gRPC reply is
 * sent while its request is still ending, so parts may overlap.
 */
const rests = {
  requestOverhead: { of: 'request', besides: ['queue', 'compute'] },
  overhead: { of: 'total', besides: ['request', 'send'], orBesides: ['receive'] },
} as const satisfies Readonly<Record<string, Rest>>;

type MeasuredName = keyof typeof spans;

interface Rest {
  readonly of: MeasuredName;
  /** The rest is absent without these. */
  readonly besides: readonly MeasuredName[];
  readonly orBesides?: readonly MeasuredName[];
}

export type SpanName = MeasuredName | keyof typeof rests;
export const spanNames = [...Object.keys(spans), ...Object.keys(rests)] as readonly SpanName[];

/**
 * Microseconds of each part; absent if the request lacks the part, or if the part ends before it
 * begins.
 */
export type SpansUs = { readonly [name in SpanName]?: number };

interface SpanNs {
  readonly startNs: number;
  readonly endNs: number;
}

/** Returns the parts of one request. */
export function computeSpans({ momentsNs }: Trace): SpansUs {
  const foundSpans = new Map<MeasuredName, SpanNs>();
  for (const name of Object.keys(spans) as MeasuredName[]) {
    for (const [from, to] of spans[name]) {
      const [startNs, endNs] = [momentsNs.get(from), momentsNs.get(to)];
      if (startNs !== undefined && endNs !== undefined && endNs >= startNs) foundSpans.set(name, { startNs, endNs });
    }
  }
  const measured = [...foundSpans].map(([name, { startNs, endNs }]) => [name, (endNs - startNs) / NS_PER_US]);
  const left = (Object.entries(rests) as [keyof typeof rests, Rest][]).flatMap(([name, rest]) => {
    const ns = restNs(foundSpans, rest);
    return ns === null ? [] : [[name, ns / NS_PER_US]];
  });
  return Object.fromEntries([...measured, ...left]) as SpansUs;
}

function restNs(spans: ReadonlyMap<MeasuredName, SpanNs>, { of, besides, orBesides = [] }: Rest): number | null {
  const whole = spans.get(of);
  if (!whole || besides.some((name) => !spans.has(name))) return null;
  const parts = [...besides, ...orBesides].flatMap((name) => spans.get(name) ?? []);
  let [coveredNs, untilNs] = [0, whole.startNs];
  for (const { startNs, endNs } of parts.sort((a, b) => a.startNs - b.startNs)) {
    const end = Math.min(endNs, whole.endNs);
    coveredNs += Math.max(0, end - Math.max(startNs, untilNs));
    untilNs = Math.max(untilNs, end);
  }
  return whole.endNs - whole.startNs - coveredNs;
}
