import protobuf from 'protobufjs';
import { sequenceIn } from '../scheduling/sequence-mark.ts';
import { type InferCall, type InferInput, placeIn, type TextCall } from '../wire/infer-call.ts';
import type { TensorPlace } from '../wire/shared-memory.ts';
import { inputValues, toTextCall } from '../wire/text-call.ts';

/**
 * The infer path's own reader and writer of ModelInferRequest and ModelInferResponse: measures
 * tensors without decoding them, and encodes a response once per batch size. Field numbers are
 * those of `proto/grpc_service.proto`.
 */
export function readInferRequest(bytes: Uint8Array): InferCall {
  const reader = protobuf.Reader.create(bytes);
  let model = '';
  let version = '';
  let id = '';
  const inputs: ReadInput[] = [];
  const outputs: ReadOutput[] = [];
  const raws: Uint8Array[] = [];
  const parameters: Record<string, unknown> = {};
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag === toTag(1)) model = reader.stringVerify();
    else if (tag === toTag(2)) version = reader.stringVerify();
    else if (tag === toTag(3)) id = reader.stringVerify();
    else if (tag === toTag(4)) readParameter(reader, parameters);
    else if (tag === toTag(5)) inputs.push(readInput(reader));
    else if (tag === toTag(6)) outputs.push(readOutput(reader));
    else if (tag === toTag(7)) raws.push(bytesIn(reader));
    else skipField(reader, tag);
  }
  checkEnd(reader, reader.len);
  let raw = 0;
  return {
    model,
    version,
    id,
    outputs: outputs.map(({ name }) => name),
    outputPlaces: listPlaces(outputs),
    sequence: sequenceIn(parameters),
    wantsEmptyFinal: parameters.triton_enable_empty_final_response === true,
    inputs: inputs.map(({ elements, parameters, ...input }): InferInput => {
      const place = placeIn(parameters);
      if (place) return { ...input, size: { place } };
      if (elements !== null) return { ...input, size: { elements } };
      const bytes = raws[raw]?.length ?? 0;
      raw += 1;
      return { ...input, size: { bytes } };
    }),
    text: textIn(inputs, raws, parameters),
  };
}

/** Reads the prompt of a language model; only these requests have their values read. */
function textIn(
  inputs: readonly ReadInput[],
  raws: readonly Uint8Array[],
  parameters: Record<string, unknown>,
): TextCall | undefined {
  if (!inputs.some(({ datatype }) => datatype === 'BYTES')) return undefined;
  let raw = 0;
  const valued = inputs.map((input) => {
    const travels = input.elements === null && !placeIn(input.parameters);
    const bytes = travels ? raws[raw++] : undefined;
    return { ...input, ...(bytes && { raw: bytes }) };
  });
  return toTextCall(inputValues(valued), parameters);
}

/** Returns a view of the bytes of a field. */
function bytesIn(reader: protobuf.Reader): Uint8Array {
  const length = skipBytes(reader);
  return reader.buf.subarray(reader.pos - length, reader.pos);
}

interface ReadInput {
  name: string;
  datatype: string;
  readonly shape: number[];
  readonly parameters: Record<string, unknown>;
  /** The typed contents; null if the values are raw. */
  elements: number | null;
}

/** The tag of a length-delimited field. */
function toTag(field: number): number {
  return (field << 3) | 2;
}

function skipField(reader: protobuf.Reader, tag: number): void {
  if (tag >>> 3 === 0) throw new RangeError('a field without a number');
  reader.skipType(tag & 7);
}

/** A field that continues past its message would be read twice. */
function checkEnd(reader: protobuf.Reader, end: number): void {
  if (reader.pos !== end) throw new RangeError('a field is longer than its message');
}

function skipBytes(reader: protobuf.Reader): number {
  const length = reader.uint32();
  reader.skip(length);
  return length;
}

function readInput(reader: protobuf.Reader): ReadInput {
  const end = reader.uint32() + reader.pos;
  const input: ReadInput = { name: '', datatype: '', shape: [], parameters: {}, elements: null };
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === toTag(1)) input.name = reader.stringVerify();
    else if (tag === toTag(2)) input.datatype = reader.stringVerify();
    else if (tag === toTag(3)) readPackedShape(reader, input.shape);
    else if (tag === 3 << 3) input.shape.push(Number(reader.int64()));
    else if (tag === toTag(4)) readParameter(reader, input.parameters);
    else if (tag === toTag(5)) input.elements = countContents(reader);
    else skipField(reader, tag);
  }
  checkEnd(reader, end);
  return input;
}

function readPackedShape(reader: protobuf.Reader, shape: number[]): void {
  const end = reader.uint32() + reader.pos;
  while (reader.pos < end) shape.push(Number(reader.int64()));
  checkEnd(reader, end);
}

/**
 * Returns the number of elements in an InferTensorContents: packed fp32 and fp64 by length, packed
 * varints by last bytes.
 */
function countContents(reader: protobuf.Reader): number {
  const end = reader.uint32() + reader.pos;
  let elements = 0;
  while (reader.pos < end) {
    const tag = reader.uint32();
    if ((tag & 7) !== 2) {
      skipField(reader, tag);
      elements += 1;
      continue;
    }
    const length = skipBytes(reader);
    const field = tag >>> 3;
    if (field === 6) elements += length / 4;
    else if (field === 7) elements += length / 8;
    else if (field === 8) elements += 1;
    else
      for (let at = reader.pos - length; at < reader.pos; at += 1) if ((reader.buf[at] as number) < 0x80) elements += 1;
  }
  checkEnd(reader, end);
  return elements;
}

interface ReadOutput {
  name: string;
  readonly parameters: Record<string, unknown>;
}

function readOutput(reader: protobuf.Reader): ReadOutput {
  const end = reader.uint32() + reader.pos;
  const output: ReadOutput = { name: '', parameters: {} };
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === toTag(1)) output.name = reader.stringVerify();
    else if (tag === toTag(2)) readParameter(reader, output.parameters);
    else skipField(reader, tag);
  }
  checkEnd(reader, end);
  return output;
}

const listPlaces = (outputs: readonly ReadOutput[]): Map<string, TensorPlace> =>
  new Map(
    outputs.flatMap(({ name, parameters }) => {
      const place = placeIn(parameters);
      return place ? [[name, place] as const] : [];
    }),
  );

/**
 * Reads one entry of a parameter map: the name is field 1, the value field 2; inside the value bool
 * is 1, int64 2, string 3, uint64 5.
 */
function readParameter(reader: protobuf.Reader, parameters: Record<string, unknown>): void {
  const end = reader.uint32() + reader.pos;
  let name = '';
  // A parameter without a value still exists, but has no type.
  let value: unknown = null;
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === toTag(1)) name = reader.stringVerify();
    else if (tag === toTag(2)) {
      const valueEnd = reader.uint32() + reader.pos;
      while (reader.pos < valueEnd) {
        const field = reader.uint32();
        if (field === 1 << 3) value = reader.bool();
        else if (field === 2 << 3) value = exactly(reader.int64());
        else if (field === 5 << 3) value = exactly(reader.uint64());
        else if (field === toTag(3)) value = reader.stringVerify();
        else skipField(reader, field);
      }
      checkEnd(reader, valueEnd);
    } else skipField(reader, tag);
  }
  checkEnd(reader, end);
  parameters[name] = value;
}

/** Returns a number, or its digits if it is too large for one. */
function exactly(value: number | { toString(): string }): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}
