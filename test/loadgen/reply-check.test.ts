import { describe, expect, it } from 'vitest';
import { encodeTexts } from '#loadgen/input-data/text-elements.ts';
import { replyCheck } from '#loadgen/reply-check.ts';
import type { InferRequest, OutputTensor } from '#loadgen/types.ts';

const bytesOf = (array: Float32Array | Int16Array): Uint8Array => new Uint8Array(array.buffer);
const output = (datatype: string, raw: Uint8Array, name = 'OUT'): OutputTensor => ({ name, datatype, raw });
const floats = (...values: number[]): OutputTensor => output('FP32', bytesOf(Float32Array.from(values)));
const verdict = (expected: OutputTensor, actual: readonly OutputTensor[], tolerance = 0): string | null => {
  const request: InferRequest = { model: 'm', version: '', batch: 1, inputs: [], expected: [[expected]] };
  const failure = replyCheck(tolerance)(request, [actual]);
  if (failure) expect(failure).toMatchObject({ ok: false, kind: 'mismatch' });
  return failure === null ? null : failure.message;
};

describe('replyCheck', () => {
  it('compares the replies to a request in order, and counts them', () => {
    const check = (expected: InferRequest['expected'], ...replies: OutputTensor[][]) => {
      const failure = replyCheck(0)({ model: 'm', version: '', batch: 1, inputs: [], expected }, replies);
      return failure?.message ?? null;
    };
    const [one, two] = [[floats(1)], [floats(2)]];
    expect(check([one, two], one, two)).toBeNull();
    expect(check([one, []], one, two)).toBeNull();
    expect(check([one, two], two, one)).toMatch(/^output 'OUT' of reply 1 differs/);
    expect(check([one, two], one, one)).toMatch(/^output 'OUT' of reply 2 differs/);
    expect(check([one, two], one)).toBe('it had 1 reply instead of 2');
    expect(check([one], one, two)).toBe('it had 2 replies instead of 1');
    expect(check([], one)).toBe('it had 1 reply instead of 0');
    expect(check([])).toBeNull();
    expect(check(undefined, one, two)).toBeNull();
  });

  it('finds the same bytes right, whatever else the reply has', () => {
    const { NaN: nan } = Number;
    expect(verdict(floats(1, -2, nan), [output('BYTES', encodeTexts(['x']), 'MORE'), floats(1, -2, nan)])).toBeNull();
    expect(replyCheck(0)({ model: 'm', version: '', batch: 1, inputs: [] }, [])).toBeNull();
  });

  it.each([
    ['an output that is missing', floats(1), [], "output 'OUT' is not in the reply"],
    ['another type', floats(1), [output('INT32', new Uint8Array(4))], "output 'OUT' is INT32 where FP32 was expected"],
    ['another size', floats(1, 2), [floats(1)], "output 'OUT' has 4 bytes where 8 were expected"],
    [
      'other values',
      floats(1, 2, 3, 4),
      [floats(1, 2.5, 3, 5)],
      "output 'OUT' differs in 2 of 4 values: value 1 is 2.5 where 2 was expected",
    ],
    [
      'another sign of zero',
      floats(0),
      [floats(-0)],
      "output 'OUT' differs in 1 of 1 values: value 0 is -0 where 0 was expected",
    ],
    [
      'another integer',
      output('INT16', bytesOf(Int16Array.of(7, -300))),
      [output('INT16', bytesOf(Int16Array.of(7, 300)))],
      "output 'OUT' differs in 1 of 2 values: value 1 is 300 where -300 was expected",
    ],
    [
      'another text',
      output('BYTES', encodeTexts(['ab', 'cd'])),
      [output('BYTES', encodeTexts(['ab', 'cx']))],
      "output 'OUT' differs from byte 11 on",
    ],
  ])('tells %s', (_, expected, actual, message) => {
    expect(verdict(expected, actual)).toBe(message);
  });

  it('takes floats within the tolerance, which is relative above 1', () => {
    const { NaN: nan, POSITIVE_INFINITY: infinity } = Number;
    expect(verdict(floats(0, 1, 1000, nan, infinity), [floats(0.009, 1.009, 1009, nan, infinity)], 0.01)).toBeNull();
    expect(verdict(floats(1000), [floats(1011)], 0.01)).toMatch(/value 0 is 1011 where 1000/);
    expect(verdict(floats(0), [floats(0.011)], 0.01)).toMatch(/differs/);
    expect(verdict(floats(1), [floats(nan)], 0.01)).toMatch(/is NaN/);
    expect(verdict(floats(infinity), [floats(1e38)], 0.01)).toMatch(/where Infinity/);
    expect(verdict(floats(nan), [floats(1)], 0.01)).toMatch(/where NaN/);
  });

  it('takes no tolerance for integers', () => {
    const integer = (value: number) => output('INT16', bytesOf(Int16Array.of(value)));
    expect(verdict(integer(1000), [integer(1001)], 0.5)).toMatch(/1001 where 1000/);
  });
});
