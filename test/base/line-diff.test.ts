import fc from 'fast-check';
import { expect, it } from 'vitest';
import { diffLines, GAP, withContext } from '../../src/base/line-diff.ts';

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
