import { diffArrays } from 'diff';

/** A line of a difference between two texts. */
export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
}

/** The mark of lines that were left out between others. */
export const GAP = 'gap';

/**
 * Texts with more changed lines are shown as wholly replaced, for the work grows with the square of
 * that number.
 */
const MAX_CHANGES = 2000;

/**
 * Returns the lines of both texts, those in a longest common subsequence once; removed lines come
 * before the lines added in their place.
 */
export function diffLines(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  const runs = diffArrays([...before], [...after], { maxEditLength: MAX_CHANGES }) ?? [
    { value: before, removed: true, added: false },
    { value: after, removed: false, added: true },
  ];
  return runs.flatMap(({ value, removed, added }) => {
    const kind = removed ? 'removed' : added ? 'added' : 'same';
    return value.map((text): DiffLine => ({ kind, text }));
  });
}

/**
 * Returns the changed lines with this many others around each, and a gap for every omitted run of
 * lines between them.
 */
export function withContext(lines: readonly DiffLine[], context: number): readonly (DiffLine | typeof GAP)[] {
  const isNear = (index: number): boolean =>
    lines.slice(Math.max(0, index - context), index + context + 1).some(({ kind }) => kind !== 'same');
  const shown: (DiffLine | typeof GAP)[] = [];
  for (const [index, line] of lines.entries()) {
    if (isNear(index)) shown.push(line);
    else if (shown.length > 0 && shown.at(-1) !== GAP) shown.push(GAP);
  }
  return shown.at(-1) === GAP ? shown.slice(0, -1) : shown;
}
