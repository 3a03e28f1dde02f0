import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type InputOptions, prepareInputs } from '#loadgen/inputs.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { ModelMetadata, TensorMetadata } from '#triton/types.ts';

const metadataOf = (inputs: readonly TensorMetadata[]): ModelMetadata => ({
  name: 'm',
  versions: ['1'],
  platform: 'p',
  inputs,
  outputs: [],
});
const options: InputOptions = { batch: 1, seed: 1, kind: 'random' };
const prepareOne = (
  datatype: string,
  shape: readonly number[],
  change: Partial<InputOptions> = {},
  config: ModelConfig = { max_batch_size: 8 },
) => prepareInputs(metadataOf([{ name: 'in', datatype, shape }]), config, { ...options, ...change });
const viewOf = (raw: Uint8Array): DataView => new DataView(raw.buffer, raw.byteOffset, raw.byteLength);

/** Reads one IEEE 754 half-precision number that is not infinite or NaN. */
function half(bits: number): number {
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  return exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15);
}

type Read = (view: DataView, index: number) => number;
const sizes: Record<string, [number, Read]> = {
  BOOL: [1, (view, i) => view.getUint8(i)],
  UINT8: [1, (view, i) => view.getUint8(i)],
  UINT16: [2, (view, i) => view.getUint16(2 * i, true)],
  UINT32: [4, (view, i) => view.getUint32(4 * i, true)],
  UINT64: [8, (view, i) => Number(view.getBigUint64(8 * i, true))],
  INT8: [1, (view, i) => view.getInt8(i)],
  INT16: [2, (view, i) => view.getInt16(2 * i, true)],
  INT32: [4, (view, i) => view.getInt32(4 * i, true)],
  INT64: [8, (view, i) => Number(view.getBigInt64(8 * i, true))],
  FP16: [2, (view, i) => half(view.getUint16(2 * i, true))],
  BF16: [2, (view, i) => new Float32Array(new Uint32Array([view.getUint16(2 * i, true) << 16]).buffer)[0] as number],
  FP32: [4, (view, i) => view.getFloat32(4 * i, true)],
  FP64: [8, (view, i) => view.getFloat64(8 * i, true)],
};

describe('prepareInputs', () => {
  it.each(Object.entries(sizes))('%s: right size, valid and varied values', (datatype, [bytes, read]) => {
    const tensor = prepareOne(datatype, [-1, 2000]).requests[0]?.inputs[0];
    expect(tensor?.raw.length).toBe(2000 * bytes);
    const values = Array.from({ length: 2000 }, (_, i) => read(viewOf(tensor?.raw as Uint8Array), i));
    const fraction = datatype.startsWith('FP') || datatype === 'BF16';
    const highest = fraction ? 1 : datatype === 'BOOL' ? 1 : 99;
    for (const value of values)
      expect(value >= 0 && value <= highest && (fraction || Number.isInteger(value))).toBe(true);
    if (fraction) expect(Math.max(...values)).toBeLessThan(1);
    const mean = values.reduce((a, b) => a + b) / values.length;
    expect(mean / (highest / 2)).toBeGreaterThan(0.9);
    expect(mean / (highest / 2)).toBeLessThan(1.1);
    const zeros = prepareOne(datatype, [-1, 3], { kind: 'zero' }).requests[0]?.inputs[0]?.raw as Uint8Array;
    expect([0, 1, 2].map((i) => read(viewOf(zeros), i))).toEqual([0, 0, 0]);
  });

  it('BYTES: each element with its length', () => {
    const raw = prepareOne('BYTES', [-1, 3], { batch: 2 }).requests[0]?.inputs[0]?.raw as Uint8Array;
    let at = 0;
    const texts: string[] = [];
    while (at < raw.length) {
      const length = viewOf(raw).getUint32(at, true);
      texts.push(Buffer.from(raw.subarray(at + 4, at + 4 + length)).toString());
      at += 4 + length;
    }
    expect(texts).toHaveLength(6);
    for (const text of texts) expect(text).toMatch(/^[a-z0-9]{128}$/);
    const zero = prepareOne('BYTES', [-1, 1], { kind: 'zero' }).requests[0]?.inputs[0]?.raw;
    expect([...(zero as Uint8Array)]).toEqual([1, 0, 0, 0, 48]);
  });

  it('gives the same bytes for the same seed, others for another', () => {
    const raw = (seed: number) => prepareOne('FP32', [-1, 50], { seed }).requests[0]?.inputs[0]?.raw;
    expect(raw(7)).toEqual(raw(7));
    expect(raw(7)).not.toEqual(raw(8));
  });

  it('puts the batch first when the model batches, and not otherwise', () => {
    expect(prepareOne('INT8', [-1, 3, 4], { batch: 8 }).requests[0]?.inputs[0]?.shape).toEqual([8, 3, 4]);
    expect(prepareOne('INT8', [3, 4], {}, { max_batch_size: 0 }).requests[0]?.inputs[0]?.shape).toEqual([3, 4]);
    const shapeTensor: ModelConfig = {
      max_batch_size: 8,
      input: [{ name: 'in', data_type: 'TYPE_INT32', dims: [2], is_shape_tensor: true }],
    };
    for (const shape of [[2], [-1, 2]])
      expect(prepareOne('INT32', shape, { batch: 4 }, shapeTensor).requests[0]?.inputs[0]?.shape).toEqual([2]);
  });

  it('makes dimensions of any size 1 and says so, unless told a shape', () => {
    const assumed = prepareOne('FP32', [-1, -1, 4]);
    expect(assumed.requests[0]?.inputs[0]?.shape).toEqual([1, 1, 4]);
    expect(assumed.assumed).toEqual([{ input: 'in', choice: 'shape [1, 4] for [-1, 4]', option: '--shape' }]);
    const told = prepareOne('FP32', [-1, -1, 4], { shapes: { in: [77, 4] } });
    expect(told.requests[0]?.inputs[0]?.shape).toEqual([1, 77, 4]);
    expect(told.assumed).toEqual([]);
  });

  it('leaves optional inputs out and says so, unless they are given a shape', () => {
    const metadata = metadataOf([
      { name: 'a', datatype: 'FP32', shape: [-1, 1] },
      { name: 'b', datatype: 'FP32', shape: [-1, 1] },
    ]);
    const config: ModelConfig = {
      max_batch_size: 4,
      input: [{ name: 'b', data_type: 'TYPE_FP32', dims: [1], optional: true }],
    };
    const without = prepareInputs(metadata, config, options);
    expect(without.requests[0]?.inputs.map((input) => input.name)).toEqual(['a']);
    expect(without.assumed[0]?.input).toBe('b');
    const included = prepareInputs(metadata, config, { ...options, shapes: { b: [1] } });
    expect(included.requests[0]?.inputs.map((input) => input.name)).toEqual(['a', 'b']);
  });

  it('sends all inputs of a model whose inputs are all optional', () => {
    const config: ModelConfig = {
      max_batch_size: 4,
      input: [{ name: 'in', data_type: 'TYPE_FP32', dims: [3], optional: true }],
    };
    expect(prepareOne('FP32', [-1, 3], {}, config).requests[0]?.inputs).toMatchObject([{ name: 'in', shape: [1, 3] }]);
  });

  it('takes the integers, the texts and the length of texts from its options', () => {
    const raw = (datatype: string, change: Partial<InputOptions>) =>
      prepareOne(datatype, [-1, 1000], change).requests[0]?.inputs[0]?.raw as Uint8Array;
    const integersByInput = new Map([['*', { low: -3, high: 4 }]]);
    const found = (datatype: string, bytes: number, read: (view: DataView, at: number) => number | bigint) => {
      const view = viewOf(raw(datatype, { integersByInput }));
      return new Set(Array.from({ length: 1000 }, (_, index) => Number(read(view, index * bytes))));
    };
    const all = new Set([-3, -2, -1, 0, 1, 2, 3, 4]);
    expect(found('INT8', 1, (view, at) => view.getInt8(at))).toEqual(all);
    expect(found('INT64', 8, (view, at) => view.getBigInt64(at, true))).toEqual(all);
    expect(() => raw('UINT8', { integersByInput })).toThrow(/UINT8 cannot hold integers from -3 to 4/);
    expect(Buffer.from(raw('BYTES', { text: 'é' }).subarray(0, 12)).toString('latin1')).toBe(
      '\x02\0\0\0Ã©\x02\0\0\0Ã©',
    );
    expect(raw('BYTES', { kind: 'zero', text: 'no' })).toHaveLength(6000);
    expect(raw('BYTES', { stringLength: 7 })).toHaveLength(11000);
  });

  it('takes a range for each input, and knows those of usual names', () => {
    const metadata = metadataOf(
      ['input_ids', 'token_type_ids', 'attention_mask', 'text_length', 'mask'].map((name) => ({
        name,
        datatype: name === 'mask' ? 'FP32' : 'INT32',
        shape: [1000],
      })),
    );
    const valuesOf = (change: Partial<InputOptions>): readonly (readonly number[])[] => {
      const [request] = prepareInputs(metadata, {}, { batch: 1, seed: 1, kind: 'random', ...change }).requests;
      return (request?.inputs ?? []).slice(0, 4).map(({ raw }) => {
        const view = viewOf(raw);
        const values = Array.from({ length: 1000 }, (_, index) => view.getInt32(4 * index, true));
        return [Math.min(...values), Math.max(...values)];
      });
    };
    const usual = [
      [0, 99],
      [0, 1],
      [1, 1],
      [1, 1],
    ];
    expect(valuesOf({})).toEqual(usual);
    const ranges = new Map([
      ['*', { low: 5, high: 6 }],
      ['input_ids', { low: 0, high: 3 }],
    ]);
    expect(valuesOf({ integersByInput: ranges })).toEqual([
      [0, 3],
      [5, 6],
      [5, 6],
      [5, 6],
    ]);
    const { assumed } = prepareInputs(metadata, {}, { batch: 1, seed: 1, kind: 'random' });
    expect(assumed.map(({ input, choice, option }) => [input, choice, option])).toEqual([
      ['token_type_ids', 'values 0 to 1, by its name', '--integers'],
      ['attention_mask', 'values 1, by its name', '--integers'],
      ['text_length', 'values 1, by its name', '--integers'],
    ]);
    const stray = new Map([['inputids', { low: 0, high: 3 }]]);
    expect(() => valuesOf({ integersByInput: stray })).toThrow(/has no input 'inputids'/);
  });

  it('refuses a request that is too large to be sent', () => {
    expect(() => prepareOne('FP32', [-1, -1], { shapes: { in: [2 ** 29] } })).toThrow(
      /has 2,048 MiB, and made-up values may have 256 MiB: 'in' /,
    );
    expect(() => prepareOne('FP32', [-1, -1], { shapes: { in: [3] }, maxBytes: 11 })).toThrow(
      /made-up values may have/,
    );
    expect(() => prepareOne('FP32', [-1, -1], { shapes: { in: [2 ** 27] }, batch: 4 })).toThrow(/has 2,048 MiB/);
  });

  it('refuses what the model cannot take', () => {
    const invalid = expect.objectContaining({ code: 'INPUT_INVALID' });
    expect(() => prepareOne('FP32', [-1, 4], { batch: 9 })).toThrow(invalid);
    expect(() => prepareOne('FP32', [4], { batch: 2 }, { max_batch_size: 0 })).toThrow(invalid);
    expect(() => prepareOne('FP32', [-1, 4], { batch: 0 })).toThrow(invalid);
    expect(() => prepareOne('FP32', [-1, -1, 4], { shapes: { in: [3, 5] } })).toThrow(invalid);
    expect(() => prepareOne('FP32', [-1, -1], { shapes: { in: [2, 2] } })).toThrow(invalid);
    expect(() => prepareOne('FP32', [-1, 4], { shapes: { other: [4] } })).toThrow(invalid);
    expect(() => prepareOne('FP128', [-1, 4])).toThrow(expect.objectContaining({ code: 'UNSUPPORTED' }));
  });

  it('always gives as many bytes as the shape says', () => {
    const dims = fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 4 });
    const datatype = fc.constantFrom(...Object.keys(sizes));
    fc.assert(
      fc.property(dims, datatype, fc.integer({ min: 1, max: 8 }), (shape, type, batch) => {
        const tensor = prepareOne(type, [-1, ...shape], { batch }).requests[0]?.inputs[0];
        const elements = tensor?.shape.reduce((a, b) => a * b, 1) as number;
        expect(tensor?.raw.length).toBe(elements * (sizes[type]?.[0] as number));
      }),
    );
  });
});
