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
 * before the lines added in their place. Myers (1986), "An O(ND) difference algorithm and its
 * variations": linear in the texts, for few changes.
 */
export function diffLines(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  const line = (kind: DiffLine['kind']) => (text: string) => ({ kind, text });
  const kept = keptLines(before, after);
  if (kept === null) return [...before.map(line('removed')), ...after.map(line('added'))];
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  for (const [index, other] of [...kept, [before.length, after.length] as const]) {
    lines.push(...before.slice(i, index).map(line('removed')), ...after.slice(j, other).map(line('added')));
    if (index < before.length) lines.push({ kind: 'same', text: before[index] as string });
    [i, j] = [index + 1, other + 1];
  }
  return lines;
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

/**
 * Returns where each line of a longest common subsequence is in both texts; null for texts that
 * differ in too many lines.
 */
function keptLines(before: readonly string[], after: readonly string[]): readonly (readonly [number, number])[] | null {
  // By diagonal (a line of one text minus a line of the other): how far into `before` this number
  // of changes leads.
  const steps: ReadonlyMap<number, number>[] = [];
  let reached = new Map([[1, 0]]);
  for (let changes = 0; changes <= Math.min(MAX_CHANGES, before.length + after.length); changes++) {
    steps.push(reached);
    const next = new Map<number, number>();
    for (let diagonal = -changes; diagonal <= changes; diagonal += 2) {
      let i = comesByAdding(reached, diagonal, changes) ? at(reached, diagonal + 1) : at(reached, diagonal - 1) + 1;
      while (i < before.length && i - diagonal < after.length && before[i] === after[i - diagonal]) i++;
      next.set(diagonal, i);
      if (i >= before.length && i - diagonal >= after.length) return backFrom(steps, i, i - diagonal);
    }
    reached = next;
  }
  return null;
}

/** Follows the way back through the steps, along the lines that stay. */
function backFrom(
  steps: readonly ReadonlyMap<number, number>[],
  fromI: number,
  fromJ: number,
): readonly (readonly [number, number])[] {
  const kept: [number, number][] = [];
  let [i, j] = [fromI, fromJ];
  for (const [changes, reached] of [...steps.entries()].reverse()) {
    const diagonal = i - j;
    const isAdded = comesByAdding(reached, diagonal, changes);
    const startI = isAdded ? at(reached, diagonal + 1) : at(reached, diagonal - 1) + 1;
    while (i > startI) kept.push([--i, --j]);
    [i, j] = isAdded ? [startI, startI - diagonal - 1] : [startI - 1, startI - diagonal];
  }
  return kept.reverse();
}

const comesByAdding = (reached: ReadonlyMap<number, number>, diagonal: number, changes: number): boolean =>
  diagonal === -changes || (diagonal !== changes && at(reached, diagonal - 1) < at(reached, diagonal + 1));

const at = (reached: ReadonlyMap<number, number>, diagonal: number): number => reached.get(diagonal) ?? 0;
