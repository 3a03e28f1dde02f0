import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readInputs, type SuppliedInputOptions } from '#loadgen/inputs.ts';
import type { RequestSet } from '#loadgen/types.ts';
import { filesForTest, modelOf, requestsOfJson, type TestModel } from './input-files.ts';

const model: TestModel = {
  maxBatchSize: 8,
  inputs: { A: ['INT16', [2]], TEXT: ['BYTES', [-1]], MAYBE: ['UINT8', [1], { optional: true }] },
  outputs: { OUT: ['UINT8', [2]] },
};

async function requestsOf(paths: readonly string[], options: Partial<SuppliedInputOptions> = {}): Promise<RequestSet> {
  const { metadata, config } = modelOf(model);
  return readInputs(metadata, config, { batch: 1, paths, ...options });
}

const bytesOf = (tensor: { readonly raw: Uint8Array } | undefined): Uint8Array => tensor?.raw ?? new Uint8Array();

/** A `.npy` file of version 1.0, as `numpy.save` writes it. */
function npy(descr: string, shape: string, data: readonly number[], fortran = 'False'): Buffer {
  const header = `{'descr': '${descr}', 'fortran_order': ${fortran}, 'shape': ${shape}, }`.padEnd(117);
  const length = Buffer.from([118, 0]);
  return Buffer.concat([
    Buffer.from('\x93NUMPY\x01\0', 'latin1'),
    length,
    Buffer.from(`${header}\n`),
    Buffer.from(data),
  ]);
}

describe('a directory', () => {
  it('has raw bytes, lines of text, and expected outputs', async () => {
    const directory = await filesForTest({
      A: Uint8Array.of(1, 0, 2, 0),
      TEXT: 'one\r\n\ntwo\n',
      OUT: 'xy',
      '.note': '?',
    });
    const set = await requestsOf([directory], { batch: 2, shapes: { TEXT: [3] } });
    expect(set.batch).toBe(2);
    expect(set.requests).toHaveLength(1);
    const text = Buffer.from('\x03\0\0\0one\0\0\0\0\x03\0\0\0two', 'latin1');
    expect(set.requests[0]?.inputs).toEqual([
      { name: 'A', datatype: 'INT16', shape: [2, 2], raw: Buffer.from([1, 0, 2, 0, 1, 0, 2, 0]) },
      { name: 'TEXT', datatype: 'BYTES', shape: [2, 3], raw: Buffer.concat([text, text]) },
    ]);
    expect(set.requests[0]?.expected).toMatchObject([[{ name: 'OUT', raw: Buffer.from('xyxy') }]]);
  });

  it.each([
    ['a picture', Buffer.from('\xff\xd8\xff\xe0JFIF\0\x80\n\x90', 'latin1')],
    ['a text of several lines', Buffer.from('{\n "a": 1\n}\n')],
    ['nothing', Buffer.alloc(0)],
  ])('has %s as one value, byte for byte', async (_, content) => {
    const set = await requestsOf([await filesForTest({ A: '1234', TEXT: content })]);
    const [, text] = set.requests[0]?.inputs ?? [];
    expect(text).toMatchObject({ shape: [1, 1] });
    expect(Buffer.from(bytesOf(text).subarray(4))).toEqual(content);
  });

  it.each(['line', 'line\n', 'line\r\n'])('has a single line without its end: %j', async (content) => {
    const set = await requestsOf([await filesForTest({ A: '1234', TEXT: content })]);
    expect(Buffer.from(bytesOf(set.requests[0]?.inputs[1]).subarray(4)).toString()).toBe('line');
  });

  it.each([
    ['by the name of the input', 'A'],
    ["with NumPy's ending", 'A.npy'],
  ])("has an array of NumPy's %s", async (_, name) => {
    const set = await requestsOf([await filesForTest({ [name]: npy('<i2', '(1, 2)', [7, 0, 8, 0]), TEXT: 'x' })]);
    expect(set.requests[0]?.inputs[0]).toMatchObject({ shape: [1, 2], raw: Buffer.from([7, 0, 8, 0]) });
  });

  it.each([
    ['another type', npy('<f4', '(1,)', [0, 0, 0, 0]), /A: it has FP32 where 'A' takes INT16/],
    ['big-endian numbers', npy('>i2', '(2,)', [0, 7, 0, 8]), /it is big-endian/],
    ['another shape', npy('<i2', '(2, 2)', [0, 7, 0, 8, 0, 7, 0, 8]), /shape \[2, 2\] does not fit 'A'/],
    ['too few values', npy('<i2', '(2,)', [0, 7]), /1 values where INT16 \[2\] takes 2/],
    ['columns first', npy('<i2', '(2,)', [0, 7, 0, 8], 'True'), /it is in Fortran order/],
    ['a header that is cut off', npy('<i2', '(2,)', []).subarray(0, 9), /header is cut off/],
    ['a header that says too little', npy('<i2', 'x', [0, 7, 0, 8]), /header cannot be read/],
  ])("is refused with an array of NumPy's with %s", async (_, content, message) => {
    await expect(requestsOf([await filesForTest({ A: content, TEXT: 'x' })])).rejects.toThrow(
      expect.objectContaining({ code: 'INPUT_INVALID', message: expect.stringMatching(message) }),
    );
  });

  it.each([
    ['a file of no tensor', { A: '1234', TEXT: 'x', other: '' }, /other: the model has no such tensor/],
    ['a missing file', { A: '1234' }, /there is no file 'TEXT'/],
    ['two files of one input', { A: '1234', 'A.npy': 'x', TEXT: 'x' }, /A: there is 'A\.npy' as well/],
    ['too few bytes', { A: '12', TEXT: 'x' }, /A: 1 values where INT16 \[2\] takes 2/],
    ['half a value', { A: '123', TEXT: 'x' }, /A: 3 bytes are not a whole number of INT16/],
  ])('is refused with %s', async (_, files, message) => {
    await expect(requestsOf([await filesForTest(files)])).rejects.toThrow(
      expect.objectContaining({ code: 'INPUT_INVALID', message: expect.stringMatching(message) }),
    );
  });

  it('is refused with a directory in place of a file', async () => {
    const directory = await filesForTest({ TEXT: 'x' });
    await mkdir(join(directory, 'A'));
    await expect(requestsOf([directory])).rejects.toThrow(/A: it is a directory, not a file/);
  });
});

describe('paths', () => {
  it('give their streams one after the other', async () => {
    const step = (value: number) => ({ A: [value, 0], TEXT: ['x'] });
    const directory = await filesForTest({
      'a.json': JSON.stringify({ data: [step(1), step(2)] }),
      'b.json': JSON.stringify({ data: [[step(3)], [step(4)]] }),
    });
    const set = await requestsOf([join(directory, 'b.json'), join(directory, 'a.json')]);
    expect(set.requests.map((request) => request.inputs[0]?.raw[0])).toEqual([3, 4, 1, 2]);
  });

  it.each([
    ['nothing', 'missing.json', /cannot be read: ENOENT/],
    ['a device', '/dev/zero', /it is a device, not a file/],
  ])('are refused: %s', async (_, path, message) => {
    await expect(requestsOf([path])).rejects.toThrow(
      expect.objectContaining({ code: 'INPUT_INVALID', message: expect.stringMatching(message) }),
    );
  });

  it('are refused: bytes that are no text, and a link to a device', async () => {
    const directory = await filesForTest({ raw: Uint8Array.of(0xff, 0xfe, 0x00) });
    await expect(requestsOf([join(directory, 'raw')])).rejects.toThrow(/not UTF-8 text/);
    await symlink('/dev/zero', join(directory, 'link'));
    await expect(requestsOf([join(directory, 'link')])).rejects.toThrow(/it is a device, not a file/);
  });
});

describe('a batch', () => {
  const steps: TestModel = {
    maxBatchSize: 4,
    inputs: { A: ['UINT8', [-1]], B: ['UINT8', [1], { optional: true }], S: ['INT32', [1], { is_shape_tensor: true }] },
    outputs: { OUT: ['UINT8', [-1]] },
  };
  const step = (value: number, more: object = {}) => ({ A: [value], S: [9], ...more });

  it('has consecutive steps of a stream, and begins again at its end', async () => {
    const data = [[step(1), step(2), step(3)], [step(7)]];
    const validation_data = data.map((stream) => stream.map(({ A }) => ({ OUT: A })));
    const set = await requestsOfJson(steps, { data, validation_data }, { batch: 2 });
    const bytes = set.requests.map((request) => [...bytesOf(request.inputs[0])]);
    expect(bytes).toEqual([
      [1, 2],
      [3, 1],
      [7, 7],
    ]);
    expect(set.requests.map((request) => [...bytesOf(request.expected?.[0]?.[0])])).toEqual(bytes);
    expect(set.requests.map((request) => request.inputs.map(({ shape }) => shape))).toEqual(
      Array(3).fill([[2, 1], [1]]),
    );
    expect(set.requests[0]?.inputs[1]?.raw).toHaveLength(4);
  });

  it.each([
    ['shapes', [step(1), { A: [1, 2], S: [9] }], /step 0 and .*step 1: .*'A' is \[1\] in one and \[2\] in the other/],
    ['tensors', [step(1), step(2, { B: [1] })], /they have not the same tensors/],
    ['shape tensors', [step(1), { A: [2], S: [8] }], /'S' is there once for all samples/],
  ])('is refused when its steps have different %s', async (_, data, message) => {
    const refused = requestsOfJson(steps, { data }, { batch: 2 });
    await expect(refused).rejects.toThrow(
      expect.objectContaining({ code: 'INPUT_INVALID', message: expect.stringMatching(message) }),
    );
    await expect(requestsOfJson(steps, { data })).resolves.toMatchObject({ batch: 1 });
  });

  it('is refused when only some of its steps expect an output', async () => {
    const json = { data: [step(1), step(2)], validation_data: [{ OUT: [1] }, {}] };
    await expect(requestsOfJson(steps, json, { batch: 2 })).rejects.toThrow(/do not expect the same replies/);
    const set = await requestsOfJson(steps, json);
    expect(set.requests.map((request) => request.expected?.length)).toEqual([1, undefined]);
  });

  it('is refused when the model does not take it', async () => {
    await expect(requestsOfJson(steps, { data: [step(1)] }, { batch: 5 })).rejects.toThrow(
      /max_batch_size of 'm', which is 4/,
    );
    await expect(requestsOfJson(steps, { data: [step(1)] }, { shapes: { X: [1] } })).rejects.toThrow(/no input 'X'/);
  });
});
