import { describe, expect, it } from 'vitest';
import { findSequences } from '#app/traffic/tensor-requests.ts';

const stateful = { max_batch_size: 8, sequence_batching: {} };
const levels = { mode: 'concurrency', low: 1, high: 8 } as const;
const options = { batch: 1, seed: 3 };
const usage = (text: RegExp) => expect.objectContaining({ code: 'USAGE', message: expect.stringMatching(text) });

describe('findSequences', () => {
  it('makes no sequences for models without sequence batching, and says so when they are asked for', () => {
    expect(findSequences(options, { max_batch_size: 8 }, levels)).toBeUndefined();
    for (const more of [{ sequenceLength: 5 }, { sequenceLengthVariation: 0 }, { sequenceIds: { low: 1, high: 9 } }]) {
      expect(() => findSequences({ ...options, ...more }, {}, levels)).toThrow(usage(/takes no sequences/));
    }
  });

  it('takes the length from the streams of data, and 20 for what is generated', () => {
    const common = { variation: 0.2, ids: { low: 1, high: 4294967295 }, seed: 3 };
    expect(findSequences(options, stateful, levels)).toEqual({ ...common, length: 20 });
    expect(findSequences({ ...options, inputData: ['zero'] }, stateful, levels)).toEqual({ ...common, length: 20 });
    expect(findSequences({ ...options, inputData: ['a.json'] }, stateful, levels)).toEqual({
      ...common,
      length: undefined,
    });
    const told = { sequenceLength: 7, sequenceLengthVariation: 50, sequenceIds: { low: 9, high: 99 } };
    expect(findSequences({ ...options, ...told }, stateful, levels)).toEqual({
      length: 7,
      variation: 0.5,
      ids: { low: 9, high: 99 },
      seed: 3,
    });
  });

  it('makes none for an iterative model, whose requests are sequences of their own, and no batches', () => {
    const iterative = { max_batch_size: 8, sequence_batching: { iterative_sequence: true } };
    expect(findSequences(options, iterative, levels)).toBeUndefined();
    expect(() => findSequences({ ...options, batch: 2 }, iterative, levels)).toThrow(usage(/a batch larger than 1/));
  });

  it('sends ids as texts to a model that takes them so', () => {
    const controls = (data_type: string) => ({
      sequence_batching: { control_input: [{ name: 'ID', control: [{ kind: 'CONTROL_SEQUENCE_CORRID', data_type }] }] },
    });
    expect(findSequences(options, controls('TYPE_STRING'), levels)).toMatchObject({ asText: true });
    expect(findSequences(options, controls('TYPE_UINT64'), levels)).not.toHaveProperty('asText');
  });

  it('refuses batches, and fewer ids than requests in flight', () => {
    expect(() => findSequences({ ...options, batch: 2 }, stateful, levels)).toThrow(usage(/a batch larger than 1/));
    const few = { ...options, sequenceIds: { low: 1, high: 7 } };
    expect(() => findSequences(few, stateful, levels)).toThrow(usage(/7 sequence ids are too few for 8/));
    expect(findSequences(few, stateful, { mode: 'request-rate', low: 1, high: 100 })).toMatchObject({
      ids: few.sequenceIds,
    });
  });
});
