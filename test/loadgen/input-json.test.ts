import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isTrituneError } from '#base/errors.ts';
import { jsonStreams } from '#loadgen/input-data/json-data.ts';
import { modelTensors } from '#loadgen/input-data/tensor-spec.ts';
import type { RequestSet } from '#loadgen/types.ts';
import { modelOf, requestsOfJson, type TestModel, type TestTensor } from './input-files.ts';

const one = (datatype: string, dims: readonly number[]): TestModel => ({ inputs: { A: [datatype, dims] } });
const rawOf = (set: RequestSet): Buffer => Buffer.from(set.requests[0]?.inputs[0]?.raw as Uint8Array);
const floats = (...values: number[]): Buffer => Buffer.from(new Uint8Array(new Float32Array(values).buffer));

describe('a tensor in JSON', () => {
  const model = one('FP32', [2, 3]);
  const bytes = floats(1, 2.5, -3, 4, 5, 6);
  it.each([
    ['a flat list', [1, 2.5, -3, 4, 5, 6]],
    [
      'lists nested like its shape',
      [
        [1, 2.5, -3],
        [4, 5, 6],
      ],
    ],
    ['lists nested otherwise', [[[1, 2.5], -3], 4, [5, [6]]]],
    ['base64', { b64: bytes.toString('base64') }],
    ['a content', { content: [1, 2.5, -3, 4, 5, 6] }],
    [
      'a content with its shape',
      {
        content: [
          [1, 2.5, -3],
          [4, 5, 6],
        ],
        shape: [2, 3],
      },
    ],
    ['base64 in lines, as tools write it', { b64: bytes.toString('base64').replace(/(.{8})/g, '$1\n') }],
    ['base64 without padding, beside its shape', { b64: bytes.toString('base64').replaceAll('=', ''), shape: [2, 3] }],
    ['base64 with its shape', { content: { b64: bytes.toString('base64') }, shape: [2, 3] }],
  ])('may be %s', async (_, value) => {
    const set = await requestsOfJson(model, { data: [{ A: value }] });
    expect(rawOf(set)).toEqual(bytes);
    expect(set.requests[0]?.inputs[0]?.shape).toEqual([2, 3]);
  });

  // Bytes as Python's numpy (and struct, for BF16) writes them.
  it.each([
    ['BOOL', [true, false, 1, 0], '01000100'],
    ['UINT8', [0, 255], '00ff'],
    ['UINT16', [1, 65535], '0100ffff'],
    ['UINT32', [1, 4294967295], '01000000ffffffff'],
    ['INT8', [-128, 127], '807f'],
    ['INT16', [-32768, -2], '0080feff'],
    ['INT32', [-2147483648, 7], '0000008007000000'],
    ['FP16', [1, -0.5, 65504], '003c00b8ff7b'],
    ['BF16', [1, -0.5, 3.140625], '803f00bf4940'],
    ['FP32', [1, 0.1], '0000803fcdcccc3d'],
    ['FP64', [1, 0.1], '000000000000f03f9a9999999999b93f'],
    ['BYTES', ['', 'añ'], '0000000003000000' + '61c3b1'],
  ])('of type %s has the bytes of the wire', async (datatype, values, hex) => {
    const set = await requestsOfJson(one(datatype, [values.length]), { data: [{ A: values }] });
    expect(rawOf(set).toString('hex')).toBe(hex);
  });

  it.each([
    ['INT64', '[-9223372036854775808, 9007199254740993, 5]', '000000000000008001000000000020000500000000000000'],
    ['UINT64', '[18446744073709551615, 1e3, 0]', 'ffffffffffffffffe8030000000000000000000000000000'],
  ])('of type %s keeps every digit', async (datatype, list, hex) => {
    const set = await requestsOfJson(one(datatype, [3]), `{"data": [{"A": ${list}}]}`);
    expect(rawOf(set).toString('hex')).toBe(hex);
  });

  it('takes NaN and infinities, bare or as texts, and leaves strings alone', async () => {
    const list = '[NaN, Infinity, -Infinity, Inf, -Inf, "NaN", "-Infinity"]';
    const { inf, nan } = { inf: Number.POSITIVE_INFINITY, nan: Number.NaN };
    const set = await requestsOfJson(one('FP32', [7]), `{"data": [{"A": ${list}}]}`);
    expect(rawOf(set)).toEqual(floats(nan, inf, -inf, inf, -inf, nan, -inf));
    const texts = await requestsOfJson(one('BYTES', [3]), '{"data": [{"A": ["a \\"NaN [", "{-Inf\\\\", "NaN"]}]}');
    expect(
      rawOf(texts)
        .toString('latin1')
        .split(/.\0\0\0/s),
    ).toEqual(['', 'a "NaN [', '{-Inf\\', 'NaN']);
  });

  it.each([
    [
      'the nesting',
      [-1, -1],
      [
        [1, 2, 3],
        [4, 5, 6],
      ],
      [2, 3],
    ],
    ['the number of values', [-1, 3], [1, 2, 3, 4, 5, 6], [2, 3]],
    ['a shape in the file', [-1, -1], { content: [1, 2, 3, 4, 5, 6], shape: [3, 2] }, [3, 2]],
    ['a single number as shape', [-1], { content: [1, 2], shape: 2 }, [2]],
    ['base64 and the number of bytes', [-1], { b64: floats(1, 2).toString('base64') }, [2]],
  ])('has dimensions of any size from %s', async (_, dims, value, shape) => {
    const set = await requestsOfJson(one('FP32', dims), { data: [{ A: value }] });
    expect(set.requests[0]?.inputs[0]?.shape).toEqual(shape);
  });

  it('has a shape that is given for all of its name, unless it names its own', async () => {
    const data = [{ A: [1, 2, 3, 4] }, { A: { content: [1, 2, 3, 4], shape: [4, 1] } }];
    const set = await requestsOfJson(one('FP32', [-1, -1]), { data }, { shapes: { A: [2, 2] } });
    expect(set.requests.map((request) => request.inputs[0]?.shape)).toEqual([
      [2, 2],
      [4, 1],
    ]);
  });
});

describe('the streams of a data file', () => {
  const model = one('UINT8', [1]);
  const values = (set: RequestSet): number[] => set.requests.map((request) => request.inputs[0]?.raw[0] as number);
  it('are one when its entries are steps', async () => {
    expect(values(await requestsOfJson(model, { data: [{ A: [3] }, { A: [1] }, { A: [2] }] }))).toEqual([3, 1, 2]);
  });

  it('are its entries when these are lists', async () => {
    const set = await requestsOfJson(model, { data: [[{ A: [3] }, { A: [1] }], [{ A: [2], model: 'm' }]] });
    expect(values(set)).toEqual([3, 1, 2]);
  });
});

const two: TestModel = {
  inputs: { A: ['FP32', [2]], B: ['INT8', [-1, -1], { optional: true }] },
  outputs: { OUT: ['FP32', [1]] },
};
const good = { A: [1, 2] };

describe('a fault in a data file', () => {
  it.each([
    ['no JSON', '{"data": [', /data\.json: it is not JSON: /],
    ['nothing', '', /data\.json: it is not JSON/],
    ['another root', '[1]', /data\.json: its JSON is not an object/],
    ['nested too deep', `{"data": ${'['.repeat(1e5)}`, /nested deeper than 64/],
    ['no data', {}, /"data" is not a list/],
    ['empty data', { data: [] }, /"data" is not a list/],
    ['an unknown part', { data: [good], 'validation-data': [] }, /no 'validation-data' in a data file/],
    ['an empty stream', { data: [[good], []] }, /stream 1 of "data" is empty/],
    ['a step among streams', { data: [[good], good] }, /entry 1 of "data" is a step, but other entries are streams/],
    ['a step that is none', { data: [good, 7] }, /stream 0, step 1: it is not an object/],
    [
      'an unknown input',
      { data: [[good], [good, { ...good, C: [] }]] },
      /stream 1, step 1: the model has no input 'C'/,
    ],
    ['a missing input', { data: [{ B: [[1]] }] }, /stream 0, step 0: input 'A' is missing/],
    ['too few values', { data: [{ A: [1] }] }, /step 0, input 'A': 1 values where FP32 \[2\] takes 2/],
    ['a wrong value', { data: [{ A: [1, 'x'] }] }, /input 'A': value 1 is "x".*/],
    ['a number too large', { data: [{ A: [1, 1e39] }] }, /value 1 is 1e\+39/],
    ['null', { data: [{ A: null }] }, /null is not a tensor/],
    ['a number for a tensor', { data: [{ A: 5 }] }, /5 is not a tensor/],
    ['an unknown part of a tensor', { data: [{ A: { b64: '', more: 1 } }] }, /a tensor has no field "more"/],
    ['one beside the content', { data: [{ A: { content: [1, 2], shap: [2] } }] }, /a tensor has no field "shap"/],
    ['bad base64', { data: [{ A: { b64: 'AA*A' } }] }, /its b64 is not base64/],
    ['cut base64', { data: [{ A: { b64: 'AAAAA' } }] }, /its b64 is not base64/],
    ['base64 of half a value', { data: [{ A: { b64: 'AAAAAAA=' } }] }, /5 bytes are not a whole number of FP32/],
    ['a shape that does not fit', { data: [{ A: { content: [1, 2], shape: [1, 2] } }] }, /shape \[1, 2\] does not fit/],
    ['a shape of words', { data: [{ A: { content: [1, 2], shape: ['2'] } }] }, /its shape is not a list/],
    ['a negative shape', { data: [{ ...good, B: { content: [1], shape: [-1, -1] } }] }, /\[-1, -1\] does not fit/],
    ['an open shape', { data: [{ ...good, B: [1, 2] }] }, /the shape of 2 values for \[-1, -1\] is ambiguous/],
    ['more validation', { data: [good], validation_data: [{}, {}] }, /streams of 2 steps where "data" has 1/],
    ['an unknown output', { data: [good], validation_data: [{ A: [1, 2] }] }, /the model has no output 'A'/],
    ['a wrong output', { data: [good], validation_data: [{ OUT: [1, 2] }] }, /output 'OUT': 2 values where FP32 \[1\]/],
  ])('is told: %s', async (_, json, message) => {
    await expect(requestsOfJson(two, json)).rejects.toThrow(
      expect.objectContaining({ code: 'INPUT_INVALID', message: expect.stringMatching(message) }),
    );
  });

  it.each([
    ['BOOL', 2, 'true or false'],
    ['UINT8', 256, 'an integer from 0 to 255 for UINT8'],
    ['INT8', 1.5, 'an integer from -128 to 127 for INT8'],
    ['UINT64', -1, 'an integer from 0 to 18446744073709551615 for UINT64'],
    ['INT32', true, 'an integer from -2147483648 to 2147483647 for INT32'],
    ['FP16', 65520, 'a number within ±65504 for FP16, or NaN, Infinity, -Infinity'],
    ['BYTES', 5, 'a string'],
  ])('%s does not take %s', async (datatype, value, expected) => {
    await expect(requestsOfJson(one(datatype, [1]), { data: [{ A: [value] }] })).rejects.toThrow(
      expect.objectContaining({ code: 'INPUT_INVALID', hint: `expected ${expected}` }),
    );
  });

  it('is told of BYTES in base64 without lengths', async () => {
    const b64 = Buffer.from('plain text').toString('base64');
    await expect(requestsOfJson(one('BYTES', [1]), { data: [{ A: { b64 } }] })).rejects.toThrow(
      /not a whole number of BYTES/,
    );
  });

  it('does not reach into what every object has', async () => {
    const tensor = (dims: number[]): TestTensor => ['UINT8', dims];
    const odd: TestModel = { inputs: { constructor: tensor([-1]), ['__proto__']: tensor([1]) } };
    const set = await requestsOfJson(odd, '{"data": [{"constructor": [1, 2], "__proto__": [7]}]}');
    expect(set.requests[0]?.inputs.map(({ shape }) => shape)).toEqual([[2], [1]]);
    await expect(requestsOfJson(odd, '{"data": [{"constructor": [1]}]}')).rejects.toThrow(/'__proto__' is missing/);
    expect(({} as Record<string, unknown>)[0]).toBeUndefined();
  });
});

describe('any data file', () => {
  const { metadata, config } = modelOf({
    inputs: { A: ['FP32', [2]], B: ['BYTES', [-1]], C: ['INT64', [-1, -1], { optional: true }] },
    outputs: { OUT: ['FP16', [-1]] },
  });
  const tensors = modelTensors(metadata, config);
  /** Gives requests, or an error for people. */
  const read = (text: string): void => {
    try {
      for (const samples of jsonStreams('f', text, tensors, {})) expect(samples.length).toBeGreaterThan(0);
    } catch (error) {
      expect(isTrituneError(error, 'INPUT_INVALID')).toBe(true);
    }
  };
  const key = fc.constantFrom('A', 'B', 'C', 'OUT', 'b64', 'content', 'shape', 'data', '__proto__', 'x');
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 6 },
      fc.constantFrom(null, true, 0, 1, -1, 1.5, 1e300, 'NaN', '', 'AAAA', 'text'),
      fc.array(tie('tree'), { maxLength: 4 }),
      fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
    ),
  }));

  it('is read or refused, whatever JSON it is', () => {
    fc.assert(fc.property(fc.json(), read));
    fc.assert(
      fc.property(
        fc.array(tree, { maxLength: 3 }),
        fc.option(fc.array(tree, { maxLength: 3 }), { nil: undefined }),
        (data, validation) => read(JSON.stringify({ data, validation_data: validation })),
      ),
      { numRuns: 1000 },
    );
  });

  it('is read or refused, whatever text it is', () => {
    const token = fc.constantFrom(...'[]{},:"\\', '"data"', '"A"', 'NaN', '-Inf', '1', '1e999', '-', ' ', 'é');
    fc.assert(
      fc.property(fc.array(token, { maxLength: 60 }), (tokens) => read(tokens.join(''))),
      { numRuns: 1000 },
    );
  });
});
