import fc from 'fast-check';
import { damagedBytes, hostileNames } from '../../support/fuzz.ts';
import { encode, floats, good, place, tensor } from './subject.ts';

export const sizes = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 3 });
const anyName = fc.constantFrom('m', 'm', 'seq', 'stream', 'chain', 'texts', 'second', ...hostileNames);
const int64 = fc.constantFrom(0, 1, -1, 2, 4, 8, 16, 32, 4096, 8192, '9223372036854775807', '-9223372036854775808');
export const parameter = fc.oneof(
  fc.boolean().map((bool_param) => ({ bool_param })),
  int64.map((int64_param) => ({ int64_param })),
  fc.constantFrom('r', '', 'x', '__proto__', '1').map((string_param) => ({ string_param })),
  fc.double().map((double_param) => ({ double_param })),
);
const parameterNames = [
  ...['shared_memory_region', 'shared_memory_byte_size', 'shared_memory_offset', 'sequence_id', 'sequence_start'],
  ...['sequence_end', 'triton_enable_empty_final_response', '__proto__', 'constructor', 'priority', 'timeout'],
];
const parameters = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: fc.dictionary(fc.constantFrom(...parameterNames), parameter, { maxKeys: 4 }) },
  {
    weight: 1,
    arbitrary: fc.tuple(int64, int64).map(([bytes, offset]) => place('r', bytes as number, offset as number)),
  },
);
const contents = fc.constantFrom<object>(
  { fp32_contents: [1, 2, 3, 4] },
  { int64_contents: [1, -1] },
  { bytes_contents: [Buffer.from('a'), Buffer.alloc(0)] },
  { bool_contents: [true] },
  {},
);
const anyTensor = fc.record(
  {
    name: fc.constantFrom('IN', 'IN', 'OUT', 'A', 'B', 'T', '', '__proto__'),
    datatype: fc.constantFrom('FP32', 'FP32', 'BYTES', 'INT64', '', 'FP128', 'constructor'),
    shape: fc.oneof(fc.constantFrom([1, 4], [2, 4], [1, 2], [4]), fc.array(int64, { maxLength: 4 })),
    parameters,
    contents,
  },
  { requiredKeys: ['name', 'datatype', 'shape'] },
);
const output = fc.record(
  { name: fc.constantFrom('OUT', 'T', 'F', '', '__proto__'), parameters },
  { requiredKeys: ['name'] },
);
const raws = fc.constantFrom(floats(4), floats(8), Buffer.alloc(0), Buffer.alloc(7));
const fields = {
  model_name: anyName,
  model_version: fc.constantFrom('', '1', '2', '-1'),
  id: fc.constantFrom('', 'x', '\u0000', '%', 'é'.repeat(99)),
  parameters,
  inputs: fc.array(anyTensor, { maxLength: 3 }),
  outputs: fc.array(output, { maxLength: 3 }),
  raw_input_contents: fc.array(raws, { maxLength: 3 }),
};
/** Requests of the grammar, with whatever values. */
const anyInfer = fc.record(fields, { requiredKeys: ['model_name', 'inputs'] });
const goodInfers: readonly object[] = [
  good,
  { model_name: 'm', inputs: [tensor(1, { contents: { fp32_contents: [1, 2, 3, 4] } })], outputs: [{ name: 'OUT' }] },
  {
    model_name: 'm',
    inputs: [tensor(1, { parameters: place('r', 16) })],
    outputs: [{ name: 'OUT', parameters: place('r', 16, 64) }],
  },
  {
    model_name: 'seq',
    inputs: [tensor(1)],
    raw_input_contents: [floats(4)],
    parameters: {
      sequence_id: { int64_param: 7 },
      sequence_start: { bool_param: true },
      sequence_end: { bool_param: true },
    },
  },
  {
    model_name: 'stream',
    inputs: [{ ...tensor(1), shape: [4] }],
    raw_input_contents: [floats(4)],
    parameters: { triton_enable_empty_final_response: { bool_param: true } },
  },
  { model_name: 'chain', model_version: '1', inputs: [tensor(8)], raw_input_contents: [floats(32)] },
  {
    model_name: 'texts',
    inputs: [
      {
        name: 'A',
        datatype: 'BYTES',
        shape: [1, 2],
        contents: { bytes_contents: [Buffer.from('a'), Buffer.from('b')] },
      },
      { name: 'B', datatype: 'INT64', shape: [1, 2], contents: { int64_contents: [1, -1] } },
    ],
    outputs: [{ name: 'F' }, { name: 'T' }],
  },
];
/** Good ones with another value in one place. */
const nearly = fc
  .tuple(
    fc.constantFrom(...goodInfers),
    fc.oneof(
      ...Object.entries(fields).map(([name, value]) =>
        (value as fc.Arbitrary<unknown>).map((one) => ({ [name]: one })),
      ),
    ),
  )
  .map(([message, change]) => ({ ...message, ...change }));
const encoded = (message: object): Buffer => encode('ModelInfer', message);
/** Of ModelInfer, as bytes. */
export const infer = fc.oneof(
  { weight: 2, arbitrary: damagedBytes(goodInfers.map(encoded)) },
  { weight: 3, arbitrary: nearly.map(encoded) },
  { weight: 1, arbitrary: anyInfer.map(encoded) },
);

/** Of an element, by the datatypes of the outputs here. */
export const bytesOf: Readonly<Record<string, number>> = { FP32: 4, BYTES: 4, BOOL: 1 };
