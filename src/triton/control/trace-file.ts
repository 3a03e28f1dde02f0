import { z } from 'zod';
import { messageOf, TrituneError } from '../../base/errors.ts';
import { plainLine } from '../../base/format.ts';
import { ArrayFault, JsonArrayItems } from '../wire/json-array-items.ts';

/** The moments of a request that Triton's trace mode notes, in the order in which they come. */
const momentNames = [
  ...['HTTP_RECV_START', 'HTTP_RECV_END', 'GRPC_WAITREAD_START', 'GRPC_WAITREAD_END'],
  ...['REQUEST_START', 'QUEUE_START', 'CACHE_HIT_LOOKUP_START', 'CACHE_HIT_LOOKUP_END'],
  ...['COMPUTE_START', 'COMPUTE_INPUT_END', 'COMPUTE_OUTPUT_START', 'COMPUTE_END'],
  ...['CACHE_MISS_INSERTION_START', 'CACHE_MISS_INSERTION_END', 'INFER_RESPONSE_COMPLETE', 'REQUEST_END'],
  ...['HTTP_SEND_START', 'HTTP_SEND_END', 'GRPC_SEND_START', 'GRPC_SEND_END'],
] as const;
const knownMoments: ReadonlySet<string> = new Set(momentNames);

/** One traced request, or the part of one that a model of an ensemble did. */
export interface Trace {
  readonly id: number;
  /** Id of the ensemble's request that this one is a part of; null for none. */
  readonly parentId: number | null;
  readonly model: string;
  /** -1 where none is written. */
  readonly version: number;
  /** Which the client gave; '' for none. */
  readonly requestId: string;
  /** By name, on the server's steady clock; of a start that came more than once the first, of an end the last. */
  readonly momentsNs: ReadonlyMap<string, number>;
}

export interface ReadTraces {
  /** In the order in which they begin in the files. */
  readonly traces: readonly Trace[];
  /** Traces of which the files do not say which model they are of: they had begun before the file. */
  readonly nameless: number;
  /** Files without their end: of a server that still has them open, or that was killed. */
  readonly unfinished: readonly string[];
}

/** A file as it is read. */
export interface TraceSource {
  readonly name: string;
  readonly chunks: AsyncIterable<Uint8Array>;
}

const MAX_FRAGMENT_BYTES = 64 * 2 ** 20;
const MAX_TRACES = 2_000_000;

const id = z.number().int().nonnegative();
/** A beginning has the model, one or more moments have `timestamps`, and tensors have neither. */
const fragment = z.looseObject({
  id,
  model_name: z.string().optional(),
  model_version: z.number().default(-1),
  request_id: z.string().default(''),
  parent_id: id.nullable().default(null),
  timestamps: z.array(z.looseObject({ name: z.string(), ns: z.number().nonnegative() })).default([]),
});

interface OpenTrace {
  readonly momentsNs: Map<string, number>;
  begun: Omit<Trace, 'momentsNs'> | null;
}

/**
 * Reads files that Triton's trace mode `triton` wrote: an array of fragments in no order, joined by their id. Holds the
 * traces, never a whole file. A file may lack its end, as it does while its server runs. The files must be of one server.
 * Errors: INPUT_INVALID with the file and the fragment; UNSUPPORTED for traces in another form, such as OpenTelemetry's.
 */
export async function readTraces(sources: readonly TraceSource[]): Promise<ReadTraces> {
  const open = new Map<number, OpenTrace>();
  const unfinished: string[] = [];
  for (const source of sources) {
    const isWhole = await readInto(open, source);
    if (!isWhole) unfinished.push(source.name);
  }
  const traces = [...open.values()].flatMap(({ begun, momentsNs }) => (begun ? [{ ...begun, momentsNs }] : []));
  return { traces, nameless: open.size - traces.length, unfinished };
}

async function readInto(open: Map<number, OpenTrace>, { name, chunks }: TraceSource): Promise<boolean> {
  const items = new JsonArrayItems(MAX_FRAGMENT_BYTES);
  let count = 0;
  try {
    for await (const chunk of chunks) {
      if (items.isUnbegun) refuseOtherForms(chunk, name);
      for (const item of items.add(chunk)) {
        count++;
        addFragment(open, item);
      }
    }
  } catch (error) {
    if (error instanceof TrituneError) throw error;
    throw invalid(name, count === 0 ? messageOf(error) : `at fragment ${count}: ${messageOf(error)}`);
  }
  if (items.isUnbegun) throw invalid(name, 'it is empty');
  return items.isWhole;
}

function addFragment(open: Map<number, OpenTrace>, text: string): void {
  const checked = fragment.safeParse(JSON.parse(text));
  if (!checked.success) {
    if (looksLikeSpans(text)) throw otherForm();
    const [issue] = checked.error.issues;
    throw new ArrayFault(`${issue?.path.join('.')}: ${issue?.message}`);
  }
  const { id, model_name: model, model_version: version, request_id: requestId, parent_id: parentId } = checked.data;
  const trace = open.get(id) ?? { momentsNs: new Map<string, number>(), begun: null };
  if (!open.has(id) && open.size >= MAX_TRACES) throw new ArrayFault(`there are over ${MAX_TRACES} traces`);
  open.set(id, trace);
  addMoments(trace.momentsNs, checked.data.timestamps);
  if (model === undefined) return;
  if (trace.begun) throw new ArrayFault(`trace ${id} begins twice: give files of one run of one server`);
  trace.begun = { id, parentId, model, version, requestId };
}

function addMoments(
  into: Map<string, number>,
  stamps: readonly { readonly name: string; readonly ns: number }[],
): void {
  for (const { name, ns } of stamps) {
    if (!knownMoments.has(name)) continue;
    const before = into.get(name) ?? ns;
    into.set(name, name.endsWith('_START') ? Math.min(before, ns) : Math.max(before, ns));
  }
}

/** Says of a file in a form of OpenTelemetry, Jaeger or Zipkin what it is, rather than what it is not. */
function refuseOtherForms(chunk: Uint8Array, name: string): void {
  const start = Buffer.from(chunk.subarray(0, 4096)).toString('utf8');
  if (start.trimStart().startsWith('{') && looksLikeSpans(start)) throw otherForm(name);
}

const looksLikeSpans = (text: string): boolean =>
  /"(resource_?[sS]pans|scope_?[sS]pans|trace_?I[dD]|trace_id|spans?_?[iI]?[dD]?)"/.test(text.slice(0, 4096));

const otherForm = (name?: string): TrituneError =>
  new TrituneError(
    'UNSUPPORTED',
    `${name === undefined ? 'these are' : `${plainLine(name)} holds`} spans of OpenTelemetry or alike, not what trace mode 'triton' writes`,
    'trace with --trace-config mode=triton and file=FILE, or look at these in a viewer for OpenTelemetry',
  );

const invalid = (name: string, fault: string): TrituneError =>
  new TrituneError(
    'INPUT_INVALID',
    `${plainLine(name)} is no trace file of Triton: ${plainLine(fault)}`,
    'give the file of --trace-config triton,file=FILE, or FILE.0, FILE.1 … beside it',
  );
