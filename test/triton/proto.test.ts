import { describe, expect, it } from 'vitest';
import { readStatistics } from '#triton/control/statistics.ts';
import {
  decodeWithUnknown,
  listUnknownFields,
  messageType,
  serviceMethod,
  serviceMethods,
} from '#triton/wire/proto.ts';
import { readIndex } from '#triton/wire/replies.ts';

const hex = (type: string, message: object): string => {
  const found = messageType(type);
  return Buffer.from(found.encode(found.fromObject(message)).finish()).toString('hex');
};

describe('the protocol', () => {
  // Written by hand from the field numbers: a tag is number × 8 + wire type (0 varint, 2
  // length-delimited).
  it.each([
    ['ModelInferRequest', { model_name: 'm', model_version: '1', id: 'i' }, '0a016d 120131 1a0169'],
    [
      'ModelInferRequest',
      {
        inputs: [{ name: 'X', datatype: 'FP32', shape: [1, -1] }],
        raw_input_contents: [Buffer.from([1, 2])],
      },
      '2a16 0a0158 120446503332 1a0b 01ffffffffffffffffff01 3a020102',
    ],
    ['ModelInferRequest', { outputs: [{ name: 'Y' }] }, '3203 0a0159'],
    ['InferParameter', { bool_param: true }, '0801'],
    ['InferParameter', { double_param: 1 }, '21000000000000f03f'],
    [
      'RepositoryModelLoadRequest',
      { model_name: 'm', parameters: { config: { string_param: '{}' } } },
      '12016d 1a0e 0a06636f6e666967 1204 1a027b7d',
    ],
    [
      'RepositoryIndexResponse',
      { models: [{ name: 'm', version: '1', state: 'READY', reason: 'r' }] },
      '0a10 0a016d 120131 1a055245414459 220172',
    ],
    ['ModelConfigResponse', { config: { name: 'm', backend: 'b' } }, '0a07 0a016d 8a010162'],
  ])('writes %s as the wire has it', (type, message, bytes) => {
    expect(hex(type, message)).toBe(bytes.replaceAll(' ', ''));
  });

  it('has the paths of its methods', () => {
    expect(serviceMethod('ModelInfer')).toMatchObject({
      path: '/inference.GRPCInferenceService/ModelInfer',
      requestStream: false,
      responseStream: false,
    });
    expect(serviceMethod('ModelStreamInfer')).toMatchObject({ requestStream: true, responseStream: true });
    expect(new Set(serviceMethods().map((method) => method.path)).size).toBe(serviceMethods().length);
    expect(() => serviceMethod('NoSuchMethod')).toThrow(RangeError);
  });

  it('names the fields that it does not know, once each', () => {
    const type = messageType('RepositoryIndexResponse');
    const entry = messageType('RepositoryIndexResponse.ModelIndex')
      .encode({ name: 'm' })
      .uint32(9 << 3)
      .uint32(1)
      .finish();
    const bytes = type
      .encode({})
      .uint32(10)
      .bytes(entry)
      .uint32(10)
      .bytes(entry)
      .uint32(7 << 3)
      .uint32(1)
      .finish();
    expect(listUnknownFields(decodeWithUnknown(type, bytes))).toEqual(['7', 'models.9']);
    expect(listUnknownFields(decodeWithUnknown(type, type.encode({ models: [{ name: 'm' }] }).finish()))).toEqual([]);
  });
});

describe('replies', () => {
  it('gives versions in ascending order, with missing counters as zero', () => {
    const counted = { version: '10', inference_count: '9007199254740991', inference_stats: { queue: { ns: 5 } } };
    const [older, newer] = readStatistics({ model_stats: [counted, { version: '9' }] });
    expect(older).toMatchObject({ version: '9', inferenceCount: 0, success: { count: 0, ns: 0 }, batchStats: [] });
    expect(newer).toMatchObject({ version: '10', inferenceCount: 2 ** 53 - 1, queue: { count: 0, ns: 5 } });
  });

  it('takes a state that it does not know for UNKNOWN', () => {
    const models = [{ name: 'a' }, { name: 'b', state: 'READY' }, { name: 'c', state: 'HIBERNATING' }];
    expect(readIndex({ models }).map((entry) => entry.state)).toEqual(['', 'READY', 'UNKNOWN']);
  });
});
