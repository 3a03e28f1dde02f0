const LONGEST_NAME = 200;

/** Returns the known name that a misspelt one most likely means, or undefined if none is near. */
function nearest(name: string, known: Iterable<string>): string | undefined {
  // The work grows with the length, and no misspelt name is this long.
  if (name.length > LONGEST_NAME) return undefined;
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** ` (did you mean 'x'?)`, or nothing if no known name is near. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const guess = nearest(name, known);
  return guess === undefined ? '' : ` (did you mean '${guess}'?)`;
}

/** Levenshtein distance by dynamic programming over one row. */
function editDistance(a: string, b: string): number {
  const row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    let diagonal = row[0] as number;
    row[0] = i;
    for (let j = 1; j <= b.length; j += 1) {
      const above = row[j] as number;
      const substitution = diagonal + (a[i - 1] === b[j - 1] ? 0 : 1);
      row[j] = Math.min(above + 1, (row[j - 1] as number) + 1, substitution);
      diagonal = above;
    }
  }
  return row[b.length] as number;
}
