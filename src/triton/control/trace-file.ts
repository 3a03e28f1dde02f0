import { z } from 'zod';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { plainLine } from '#base/format.ts';
import { ArrayFault, JsonArrayItems } from '../wire/json-array-items.ts';

/** The moments of a request that Triton's trace mode records, in chronological order. */
const momentNames = [
  ...['HTTP_RECV_START', 'HTTP_RECV_END', 'GRPC_WAITREAD_START', 'GRPC_WAITREAD_END'],
  ...['REQUEST_START', 'QUEUE_START', 'CACHE_HIT_LOOKUP_START', 'CACHE_HIT_LOOKUP_END'],
  ...['COMPUTE_START', 'COMPUTE_INPUT_END', 'COMPUTE_OUTPUT_START', 'COMPUTE_END'],
  ...['CACHE_MISS_INSERTION_START', 'CACHE_MISS_INSERTION_END', 'INFER_RESPONSE_COMPLETE', 'REQUEST_END'],
  ...['HTTP_SEND_START', 'HTTP_SEND_END', 'GRPC_SEND_START', 'GRPC_SEND_END'],
] as const;
const knownMoments: ReadonlySet<string> = new Set(momentNames);

/**
 * Returns the name of a moment; null if unknown. Older servers wrote them as `http recv start`,
 * `grpc wait/read end`, `request handler start`, `compute input end` (documentation and tracer of
 * 19.10 to 20.x).
 */
function parseMoment(written: string): string | null {
  if (knownMoments.has(written)) return written;
  const name = written.toUpperCase().replace('REQUEST HANDLER', 'REQUEST').replace('/', '').replaceAll(' ', '_');
  return knownMoments.has(name) ? name : null;
}

/** The maximum number of unknown names to report. */
const MAX_UNKNOWN = 10;

/** One traced request, or a composing model's part of one. */
export interface Trace {
  readonly id: number;
  /** Id of the ensemble request that this one belongs to; null for none. */
  readonly parentId: number | null;
  readonly model: string;
  /** -1 if the file has none. */
  readonly version: number;
  /** The id given by the client; '' for none. */
  readonly requestId: string;
  /**
   * By name, on the server's steady clock. The first of repeated start moments counts, and the last
   * of repeated end moments.
   */
  readonly momentsNs: ReadonlyMap<string, number>;
  /** Shapes and types of the inputs, as `DATATYPE [D1,D2]`, by name; empty below level TENSORS. */
  readonly inputs: ReadonlyMap<string, string>;
}

export interface ReadTraces {
  /** In the order in which they begin in the files. */
  readonly traces: readonly Trace[];
  /** Traces without a model name in the files, because they began before the file. */
  readonly nameless: number;
  /** Traces with tensors but no moments: of level TENSORS without TIMESTAMPS. */
  readonly timeless: number;
  /** Names of unknown moments, which are not counted; the first ten. */
  readonly unknownMoments: readonly string[];
  /** Incomplete files: their server still has them open, or was killed. */
  readonly unfinished: readonly string[];
}

/** A trace file and its content. */
export interface TraceSource {
  readonly name: string;
  readonly chunks: AsyncIterable<Uint8Array>;
}

const MAX_FRAGMENT_BYTES = 64 * 2 ** 20;
const MAX_TRACES = 2_000_000;
/** The activity whose tensors are a request's inputs. */
const INPUT_ACTIVITY = 'TENSOR_QUEUE_INPUT';
/** What is longer is no shape, or no name, of an input. */
const MAX_TENSOR_TEXT = 200;
const NO_INPUTS: ReadonlyMap<string, string> = new Map();

const id = z.number().int().nonnegative();
/**
 * A first fragment has the model, moments have `timestamps`, and tensors have an `activity`. Older
 * servers write a trace as one object, without an id if the request got no further than the
 * protocol, and also name the model with each tensor.
 */
const fragment = z.looseObject({
  id: id.optional(),
  activity: z.string().optional(),
  tensor: z.looseObject({ name: z.string(), shape: z.string(), dtype: z.string() }).optional().catch(undefined),
  model_name: z.string().optional(),
  model_version: z.number().default(-1),
  request_id: z.string().default(''),
  parent_id: id.nullable().default(null),
  timestamps: z.array(z.looseObject({ name: z.string(), ns: z.number().nonnegative() })).default([]),
});

interface OpenTrace {
  readonly momentsNs: Map<string, number>;
  /** null until there is one: most traces have none. */
  inputs: Map<string, string> | null;
  begun: Omit<Trace, 'momentsNs' | 'inputs'> | null;
  /** True if the name came with a tensor: the first fragment may still come. */
  isNamedByTensor: boolean;
  hasTensors: boolean;
}

interface Reading {
  readonly open: Map<number, OpenTrace>;
  readonly unknown: Set<string>;
  /** Traces without an id. */
  withoutId: number;
}

/**
 * Reads files that Triton's trace mode `triton` wrote: an array of fragments in no particular
 * order, joined by their id. Holds the traces in memory, but never a whole file. A file may lack
 * its end, as it does while its server runs. The files must come from one server. Errors:
 * INPUT_INVALID with the file and the fragment; UNSUPPORTED for traces in another form, such as
 * OpenTelemetry's.
 */
export async function readTraces(sources: readonly TraceSource[]): Promise<ReadTraces> {
  const reading: Reading = { open: new Map(), unknown: new Set(), withoutId: 0 };
  const unfinished: string[] = [];
  for (const source of sources) {
    const isWhole = await readInto(reading, source);
    if (!isWhole) unfinished.push(source.name);
  }
  const all = [...reading.open.values()];
  const isTimeless = ({ hasTensors, isNamedByTensor, begun, momentsNs }: OpenTrace): boolean =>
    hasTensors && (begun === null || isNamedByTensor) && momentsNs.size === 0;
  const timed = all.filter((trace) => !isTimeless(trace));
  const traces = timed.flatMap(({ begun, momentsNs, inputs }) =>
    begun ? [{ ...begun, momentsNs, inputs: inputs ?? NO_INPUTS }] : [],
  );
  return {
    traces,
    nameless: timed.length - traces.length + reading.withoutId,
    timeless: all.length - timed.length,
    unknownMoments: [...reading.unknown],
    unfinished,
  };
}

async function readInto(reading: Reading, { name, chunks }: TraceSource): Promise<boolean> {
  const items = new JsonArrayItems(MAX_FRAGMENT_BYTES);
  let count = 0;
  try {
    for await (const chunk of chunks) {
      if (items.isUnbegun) refuseOtherForms(chunk, name);
      for (const item of items.add(chunk)) {
        count++;
        addFragment(reading, item);
      }
    }
  } catch (error) {
    if (error instanceof TrituneError) throw error;
    throw invalid(name, count === 0 ? formatMessage(error) : `at fragment ${count}: ${formatMessage(error)}`);
  }
  if (items.isUnbegun) throw invalid(name, 'it is empty');
  return items.isWhole;
}

function addFragment(reading: Reading, text: string): void {
  const checked = fragment.safeParse(JSON.parse(text));
  if (!checked.success) {
    if (looksLikeSpans(text)) throw otherForm();
    const [issue] = checked.error.issues;
    throw new ArrayFault(`${issue?.path.join('.')}: ${issue?.message}`);
  }
  const { id, activity, model_name: model, model_version: version } = checked.data;
  if (id === undefined) {
    if (looksLikeSpans(text)) throw otherForm();
    if (checked.data.timestamps.length === 0) throw new ArrayFault('id: there is none');
    reading.withoutId++;
    return;
  }
  const trace = openTrace(reading, id);
  addMoments(trace.momentsNs, checked.data.timestamps, reading.unknown);
  const isTensor = activity !== undefined;
  trace.hasTensors ||= isTensor;
  if (activity === INPUT_ACTIVITY && checked.data.tensor) addInput(trace, checked.data.tensor);
  if (model === undefined || (isTensor && trace.begun)) return;
  if (trace.begun && !trace.isNamedByTensor) {
    throw new ArrayFault(`trace ${id} begins twice: give files of one run of one server`);
  }
  trace.isNamedByTensor = isTensor;
  trace.begun = { id, parentId: checked.data.parent_id, model, version, requestId: checked.data.request_id };
}

function openTrace({ open }: Reading, id: number): OpenTrace {
  const known = open.get(id);
  if (known) return known;
  if (open.size >= MAX_TRACES) throw new ArrayFault(`there are over ${MAX_TRACES} traces`);
  const trace: OpenTrace = {
    momentsNs: new Map(),
    inputs: null,
    begun: null,
    isNamedByTensor: false,
    hasTensors: false,
  };
  open.set(id, trace);
  return trace;
}

interface TracedTensor {
  readonly name: string;
  readonly shape: string;
  readonly dtype: string;
}

function addInput(trace: OpenTrace, { name, shape, dtype }: TracedTensor): void {
  if ([name, shape, dtype].some((text) => text.length > MAX_TENSOR_TEXT)) return;
  trace.inputs ??= new Map();
  trace.inputs.set(name, `${dtype} [${shape}]`);
}

function addMoments(
  into: Map<string, number>,
  stamps: readonly { readonly name: string; readonly ns: number }[],
  unknown: Set<string>,
): void {
  for (const { name: written, ns } of stamps) {
    const name = parseMoment(written);
    if (name === null) {
      if (unknown.size < MAX_UNKNOWN) unknown.add(written);
      continue;
    }
    const before = into.get(name) ?? ns;
    into.set(name, name.endsWith('_START') ? Math.min(before, ns) : Math.max(before, ns));
  }
}

/** Refuses a file in a form of OpenTelemetry, Jaeger or Zipkin by naming that form. */
function refuseOtherForms(chunk: Uint8Array, name: string): void {
  const start = Buffer.from(chunk.subarray(0, 4096)).toString('utf8');
  if (start.trimStart().startsWith('{') && looksLikeSpans(start)) throw otherForm(name);
}

const looksLikeSpans = (text: string): boolean =>
  /"(resource_?[sS]pans|scope_?[sS]pans|trace_?I[dD]|trace_id|spans?_?[iI]?[dD]?)"/.test(text.slice(0, 4096));

const otherForm = (name?: string): TrituneError =>
  new TrituneError(
    'UNSUPPORTED',
    `${name === undefined ? 'these are' : `${plainLine(name)} contains`} OpenTelemetry spans, not traces of mode 'triton'`,
    'start the server with --trace-config mode=triton and file=FILE, or open these in an OpenTelemetry viewer',
  );

const invalid = (name: string, fault: string): TrituneError =>
  new TrituneError(
    'INPUT_INVALID',
    `${plainLine(name)} is not a trace file of Triton: ${plainLine(fault)}`,
    'give the file of --trace-config triton,file=FILE, or its parts FILE.0, FILE.1 …',
  );
