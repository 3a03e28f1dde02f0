import { mean } from 'simple-statistics';

/** One trial: its settings in the order of the parameters, and the logarithm of its worth. */
export interface FittedTrial {
  readonly settings: readonly string[];
  readonly size: number;
}

/** An additive fit, and how well it predicts. */
export interface AdditiveFit {
  /** The effect of each value on the logarithm, by parameter. */
  readonly effects: readonly ReadonlyMap<string, number>[];
  /**
   * The share of the variance that is predicted for rows left out in turn (Allen's PRESS); null
   * with fewer than three rows.
   */
  readonly predictedShare: number | null;
}

/** The ridge penalty, in trials: an effect seen in one trial is shrunk towards 0. */
const RIDGE = 0.25;
const ROUNDS = 60;
/** Rows left out, at most, because each takes a fit. */
const MAX_LEFT_OUT = 60;

/**
 * Fits log(worth) ≈ mean + one effect per parameter value: ridge regression on indicators, by
 * coordinate descent.
 */
export function additiveFit(rows: readonly FittedTrial[]): AdditiveFit {
  const { effects } = fitted(rows);
  return { effects, predictedShare: crossValidated(rows) };
}

function fitted(rows: readonly FittedTrial[]): { base: number; effects: Map<string, number>[] } {
  const base = mean(rows.map(({ size }) => size));
  const parameters = rows[0]?.settings.length ?? 0;
  // The rows of each value, by parameter.
  const places = Array.from({ length: parameters }, (_, index) =>
    Map.groupBy(rows.keys(), (row) => rows[row]?.settings[index] as string),
  );
  const effects = places.map((values) => new Map([...values.keys()].map((value) => [value, 0])));
  const residuals = rows.map(({ size }) => size - base);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, of] of effects.entries()) {
      for (const [value, before] of of) {
        const rows = places[index]?.get(value) ?? [];
        const sum = rows.reduce((total, row) => total + (residuals[row] as number) + before, 0);
        const after = sum / (rows.length + RIDGE);
        for (const row of rows) residuals[row] = (residuals[row] as number) + before - after;
        of.set(value, after);
      }
    }
  }
  return { base, effects };
}

function crossValidated(rows: readonly FittedTrial[]): number | null {
  if (rows.length < 3) return null;
  const step = Math.ceil(rows.length / MAX_LEFT_OUT);
  const out = rows.filter((_, index) => index % step === 0);
  let [missed, total] = [0, 0];
  for (const row of out) {
    const others = rows.filter((other) => other !== row);
    const { base, effects } = fitted(others);
    const fittedValue = row.settings.reduce((sum, value, index) => sum + (effects[index]?.get(value) ?? 0), base);
    missed += (row.size - fittedValue) ** 2;
    total += (row.size - base) ** 2;
  }
  return total > 0 ? 1 - missed / total : null;
}
