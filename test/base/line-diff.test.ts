import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { diffLines, GAP, withContext } from '#base/line-diff.ts';

const lines = fc.array(fc.constantFrom('a', 'b', 'c', '}'), { maxLength: 12 });

it('keeps both texts: without what was added it is the one, without what was removed the other', () => {
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const diff = diffLines(before, after);
      const without = (kind: 'added' | 'removed') => diff.filter((line) => line.kind !== kind).map(({ text }) => text);
      expect(without('added')).toEqual(before);
      expect(without('removed')).toEqual(after);
    }),
  );
});

it('says no more than differs', () => {
  const kinds = (before: string, after: string) =>
    diffLines([...before], [...after])
      .filter(({ kind }) => kind !== 'same')
      .map(({ kind, text }) => `${kind} ${text}`);
  expect(kinds('abc', 'abc')).toEqual([]);
  expect(kinds('abc', 'axc')).toEqual(['removed b', 'added x']);
  expect(kinds('ac', 'abc')).toEqual(['added b']);
});

it('shows changes with the lines around them, and where others were left out', () => {
  const shown = withContext(diffLines([...'abcdefghi'], [...'abXdefghY']), 1);
  expect(shown.map((line) => (line === GAP ? '…' : line.text)).join('')).toBe('bcXd…hiY');
  expect(withContext(diffLines(['a'], ['a']), 2)).toEqual([]);
});

describe('the difference of long texts', () => {
  const long = Array.from({ length: 50_000 }, (_, index) => `line ${index}`);

  it('is found where they differ in a few lines', () => {
    const lines = diffLines(['a', ...long, 'b'], ['c', ...long.slice(0, 100), 'new', ...long.slice(101)]);
    expect(lines.filter(({ kind }) => kind !== 'same').map(({ kind, text }) => `${kind} ${text}`)).toEqual([
      ...['removed a', 'added c', 'removed line 100', 'added new', 'removed b'],
    ]);
    expect(lines).toHaveLength(50_004);
  });

  it('is all of both where they differ in thousands', () => {
    const lines = diffLines(
      long,
      long.map((line) => `${line}.`),
    );
    expect(lines).toHaveLength(100_000);
    expect(lines[49_999]).toEqual({ kind: 'removed', text: 'line 49999' });
    expect(lines[50_000]).toEqual({ kind: 'added', text: 'line 0.' });
  });
});
