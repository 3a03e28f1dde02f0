import { mean } from 'simple-statistics';

/** One trial: its settings in the order of the parameters, and the logarithm of how good it was. */
export interface Row {
  readonly settings: readonly string[];
  readonly size: number;
}

export interface AdditiveFit {
  /** For each parameter, what each of its values adds to the logarithm. */
  readonly effects: readonly ReadonlyMap<string, number>[];
  /** Share of the variance foretold of rows left out in turn (Allen's PRESS); null with fewer than three rows. */
  readonly foretold: number | null;
}

/** Weight of "adds nothing" against each value's trials: what one trial alone says is drawn towards none. */
const RIDGE = 0.25;
const ROUNDS = 60;
/** Rows left out, at most: one fit each. */
const MOST_LEFT_OUT = 60;

/** log(goodness) ≈ mean + one effect per parameter value: ridge regression on indicators, by coordinate descent. */
export function additiveFit(rows: readonly Row[]): AdditiveFit {
  const { effects } = fitted(rows);
  return { effects, foretold: foretoldShare(rows) };
}

function fitted(rows: readonly Row[]): { base: number; effects: Map<string, number>[] } {
  const base = mean(rows.map(({ size }) => size));
  const parameters = rows[0]?.settings.length ?? 0;
  // For each parameter the rows of each value.
  const places = Array.from({ length: parameters }, (_, index) =>
    Map.groupBy(rows.keys(), (row) => rows[row]?.settings[index] as string),
  );
  const effects = places.map((values) => new Map([...values.keys()].map((value) => [value, 0])));
  const residuals = rows.map(({ size }) => size - base);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, of] of effects.entries()) {
      for (const [value, before] of of) {
        const own = places[index]?.get(value) ?? [];
        const sum = own.reduce((total, row) => total + (residuals[row] as number) + before, 0);
        const after = sum / (own.length + RIDGE);
        for (const row of own) residuals[row] = (residuals[row] as number) + before - after;
        of.set(value, after);
      }
    }
  }
  return { base, effects };
}

function foretoldShare(rows: readonly Row[]): number | null {
  if (rows.length < 3) return null;
  const step = Math.ceil(rows.length / MOST_LEFT_OUT);
  const out = rows.filter((_, index) => index % step === 0);
  let [missed, total] = [0, 0];
  for (const row of out) {
    const others = rows.filter((other) => other !== row);
    const { base, effects } = fitted(others);
    const told = row.settings.reduce((sum, value, index) => sum + (effects[index]?.get(value) ?? 0), base);
    missed += (row.size - told) ** 2;
    total += (row.size - base) ** 2;
  }
  return total > 0 ? 1 - missed / total : null;
}
