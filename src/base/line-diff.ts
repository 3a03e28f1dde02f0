/** A line of a difference between two texts. */
export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
}

/** The mark of lines that were left out between others. */
export const GAP = 'gap';

/**
 * Returns the lines of both texts, those in a longest common subsequence once; removed lines come before the lines added in their place. O(n·m) in
 * time and memory, for texts of some hundreds of lines.
 */
export function diffLines(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  const common = commonLengths(before, after);
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    const [own, other] = [before[i], after[j]];
    if (own !== undefined && own === other) {
      lines.push({ kind: 'same', text: own });
      i++;
      j++;
    } else if (own !== undefined && (other === undefined || at(common, i + 1, j) >= at(common, i, j + 1))) {
      lines.push({ kind: 'removed', text: own });
      i++;
    } else {
      lines.push({ kind: 'added', text: other as string });
      j++;
    }
  }
  return lines;
}

/** Returns the changed lines with this many others around each, and a gap for every omitted run of lines between them. */
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

/** Entry i, j: the length of a longest common subsequence of the rest after line i of one text and after line j of the other. */
function commonLengths(before: readonly string[], after: readonly string[]): readonly (readonly number[])[] {
  const table = Array.from({ length: before.length + 1 }, () => new Array<number>(after.length + 1).fill(0));
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      const row = table[i] as number[];
      row[j] =
        before[i] === after[j] ? at(table, i + 1, j + 1) + 1 : Math.max(at(table, i + 1, j), at(table, i, j + 1));
    }
  }
  return table;
}

const at = (table: readonly (readonly number[])[], i: number, j: number): number => table[i]?.[j] ?? 0;
