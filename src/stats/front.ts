/** One value per objective; lower is better for each (`lowerIsBetter`). */
export type Costs = readonly number[];

/**
 * Negates the values of objectives whose direction is 'higher', so that lower is better for each.
 */
export function lowerIsBetter(values: readonly number[], directions: readonly ('lower' | 'higher')[]): Costs {
  return values.map((value, index) => (directions[index] === 'higher' ? -value : value));
}

/**
 * True if `a` is nowhere worse than `b` and somewhere better. Equal points do not dominate each
 * other.
 */
export function dominates(a: Costs, b: Costs): boolean {
  let better = false;
  for (let i = 0; i < a.length; i++) {
    const [left, right] = [a[i] as number, b[i] as number];
    if (!(left <= right)) return false;
    if (left < right) better = true;
  }
  return better;
}

/**
 * Returns the ascending indices of the points that no other point dominates. All of several equal
 * points are kept. A point with a value that is not a number is never on the front and dominates
 * nothing.
 */
export function paretoFront(points: readonly Costs[]): number[] {
  const valid = points.flatMap((point, index) => (point.some(Number.isNaN) ? [] : [index]));
  const onFront = points[valid[0] ?? 0]?.length === 2 ? planarFront(points, valid) : generalFront(points, valid);
  return onFront.sort((a, b) => a - b);
}

/**
 * The front of two objectives: a point stays when its second value is the lowest so far in the
 * order of the first. O(n log n).
 */
function planarFront(points: readonly Costs[], indices: readonly number[]): number[] {
  const at = (index: number, axis: 0 | 1): number => points[index]?.[axis] as number;
  const ordered = [...indices].sort((a, b) => compare(at(a, 0), at(b, 0)) || compare(at(a, 1), at(b, 1)));
  const front: number[] = [];
  let last: number | undefined;
  for (const index of ordered) {
    const twin = last !== undefined && at(index, 0) === at(last, 0) && at(index, 1) === at(last, 1);
    if (last !== undefined && !twin && at(index, 1) >= at(last, 1)) continue;
    front.push(index);
    last = index;
  }
  return front;
}

/**
 * The front of any number of objectives. In lexicographic order a point can only be dominated by an
 * earlier one on the front.
 */
function generalFront(points: readonly Costs[], indices: readonly number[]): number[] {
  const point = (index: number): Costs => points[index] as Costs;
  const ordered = [...indices].sort((a, b) => lexicographic(point(a), point(b)));
  const front: number[] = [];
  for (const index of ordered) {
    if (!front.some((other) => dominates(point(other), point(index)))) front.push(index);
  }
  return front;
}

function lexicographic(a: Costs, b: Costs): number {
  for (let i = 0; i < a.length; i++) {
    const order = compare(a[i] as number, b[i] as number);
    if (order !== 0) return order;
  }
  return 0;
}

/** Compares without subtraction, so that infinities compare too. */
function compare(a: number, b: number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
