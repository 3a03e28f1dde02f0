import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { brain, half, smallFloatBits, smallFloatValue } from '#loadgen/input-data/small-floats.ts';
import { countTexts, encodeTexts } from '#loadgen/input-data/text-elements.ts';

describe('16-bit floats', () => {
  // IEEE 754 binary16: 1, -2, the largest, the smallest normal and subnormal, a third.
  it.each([
    [half, 1, 0x3c00],
    [half, -2, 0xc000],
    [half, 65504, 0x7bff],
    [half, 2 ** -14, 0x0400],
    [half, 2 ** -24, 0x0001],
    [half, 1 / 3, 0x3555],
    [half, -0, 0x8000],
    [half, 65519, 0x7bff],
    [half, 65520, 0x7c00],
    [half, Number.NEGATIVE_INFINITY, 0xfc00],
    [half, 1 + 2 ** -11, 0x3c00],
    [half, 1 + 3 * 2 ** -11, 0x3c02],
    [half, 2 ** -25, 0x0000],
    [half, 2047 * 2 ** -11, 0x3bff],
    [half, 4095 * 2 ** -12, 0x3c00],
    [brain, 1, 0x3f80],
    [brain, 3.140625, 0x4049],
    [brain, -(2 ** -133), 0x8001],
    [brain, 1e39, 0x7f80],
  ] as const)('%o: %d is %i', (format, value, bits) => {
    expect(smallFloatBits(format, value)).toBe(bits);
  });

  it.each([
    ['half', half],
    ['brain', brain],
  ])('%s: every pattern of bits comes back', (_, format) => {
    for (let bits = 0; bits < 0x10000; bits++) {
      const value = smallFloatValue(format, bits);
      if (Number.isNaN(value)) expect(Number.isNaN(smallFloatValue(format, smallFloatBits(format, value)))).toBe(true);
      else if (smallFloatBits(format, value) !== bits) expect([bits, value]).toBe('the same bits');
    }
  });

  it('bfloat16 is the upper half of a 32-bit float, rounded to the nearest', () => {
    const view = new DataView(new ArrayBuffer(4));
    fc.assert(
      fc.property(fc.float({ noNaN: true, min: -(2 ** 127), max: 2 ** 127 }), (value) => {
        const near = smallFloatValue(brain, smallFloatBits(brain, value));
        view.setFloat32(0, value);
        view.setUint16(2, 0);
        const below = view.getFloat32(0);
        view.setUint32(0, view.getUint32(0) + 0x10000);
        const above = view.getFloat32(0);
        expect([below, above]).toContain(near);
        expect(Math.abs(near - value)).toBeLessThanOrEqual(Math.min(Math.abs(below - value), Math.abs(above - value)));
      }),
    );
  });
});

describe('BYTES elements', () => {
  it('count as many as were encoded', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string({ unit: 'grapheme' }), fc.uint8Array())), (texts) => {
        expect(countTexts(encodeTexts(texts))).toBe(texts.length);
      }),
    );
  });

  it.each([
    ['cut within a length', [3, 0, 0]],
    ['cut within a text', [3, 0, 0, 0, 65]],
    ['with something left', [1, 0, 0, 0, 65, 66]],
  ])('are no whole number when %s', (_, bytes) => {
    expect(countTexts(Uint8Array.from(bytes))).toBeNull();
  });
});
