import { describe, expect, it } from 'vitest';
import { compareOutputs, type Tolerance } from '#loadgen/accuracy.ts';
import type { OutputTensor } from '#loadgen/types.ts';

const floats = (...values: number[]): OutputTensor => ({
  name: 'OUT',
  datatype: 'FP32',
  raw: new Uint8Array(new Float32Array(values).buffer),
});

function compared(expected: OutputTensor, actual: OutputTensor, tolerance: Tolerance = { absolute: 0, relative: 0 }) {
  const comparison = compareOutputs(tolerance);
  const request = { model: 'm', version: '', batch: 1, inputs: [], expected: [[expected]] };
  const outcome = comparison.check(request, [[actual]]);
  return { outcome, ...comparison.read() };
}

describe('how far outputs are off', () => {
  it('is the largest absolute and relative difference, and the share outside the tolerance', () => {
    const figures = compared(floats(1, -2, 0, 4), floats(1.5, -2, 0.25, 4.125), { absolute: 0.125, relative: 0.1 });
    expect(figures).toEqual({ outcome: null, elements: 4, outsideShare: 0.5, absolute: 0.5, relative: 0.5 });
  });

  it('has a tolerance by output, or that of the others', () => {
    const off = (tolerance: Tolerance) => compared(floats(1, 2), floats(1.5, 2), tolerance).outsideShare;
    expect(off({ absolute: { OUT: 0.5, '*': 0 }, relative: 0 })).toBe(0);
    expect(off({ absolute: { OTHER: 9 }, relative: 0 })).toBe(0.5);
    expect(off({ absolute: { OTHER: 9, '*': 1 }, relative: 0 })).toBe(0);
    expect(off({ absolute: 0, relative: { OUT: 0.5 } })).toBe(0);
  });

  it('is nothing for the same values, NaN and infinities among them', () => {
    const values = floats(Number.NaN, Number.POSITIVE_INFINITY, -0, 3);
    expect(compared(values, values)).toMatchObject({ outsideShare: 0, absolute: 0, relative: 0 });
  });

  it('is outside of every tolerance where a number is none', () => {
    const wide = { absolute: 1e9, relative: 1e9 };
    expect(compared(floats(1, 2), floats(Number.NaN, 2), wide)).toMatchObject({
      outsideShare: 0.5,
      absolute: Infinity,
    });
  });

  it('fails a reply of another form', () => {
    expect(compared(floats(1, 2), floats(1)).outcome).toMatchObject({ kind: 'mismatch' });
    expect(compared(floats(1), { ...floats(1), name: 'OTHER' }).outcome).toMatchObject({ kind: 'mismatch' });
    expect(compared(floats(1), { ...floats(1), datatype: 'INT32' }).outcome).toMatchObject({ kind: 'mismatch' });
  });

  it('counts text as one element, the same or not', () => {
    const text = (content: string): OutputTensor => ({ name: 'OUT', datatype: 'BYTES', raw: Buffer.from(content) });
    expect(compared(text('cat'), text('cat'))).toMatchObject({ elements: 1, outsideShare: 0 });
    expect(compared(text('cat'), text('crow'))).toMatchObject({ elements: 1, outsideShare: 1 });
  });
});
