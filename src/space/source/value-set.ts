import type { Json } from '#base/json.ts';
import type { ValuesFile } from './schema.ts';

const maxValues = 1000;

/** An impossible set of values; `key` is the wrong part of it. */
export class ValueFault extends Error {
  readonly key: string;

  constructor(key: string, reason: string) {
    super(reason);
    this.key = key;
  }
}

/**
 * Returns the values of `values`, `range` or `powers`, ascending if they are computed. Throws a
 * ValueFault.
 */
export function listValues(file: ValuesFile): readonly Json[] {
  if (file.range === undefined && (file.step ?? file.points) !== undefined) {
    throw new ValueFault(file.step === undefined ? 'points' : 'step', 'it belongs to a range');
  }
  if (file.range !== undefined) return listRange(file.range, file.step, file.points);
  if (file.powers !== undefined) return listPowers(file.powers);
  return file.values as readonly Json[];
}

function listRange([low, high]: [number, number], step: number | undefined, points: number | undefined): number[] {
  if (low > high) throw new ValueFault('range', `it runs from ${low} down to ${high}: the lower end comes first`);
  if (step !== undefined && points !== undefined) throw new ValueFault('points', 'a range has either a step or points');
  if (!Number.isFinite(high - low)) throw new ValueFault('range', 'its ends are too far apart');
  if (points !== undefined) return spaced(low, (high - low) / (points - 1), points);
  if (step === undefined && !(Number.isInteger(low) && Number.isInteger(high))) {
    throw new ValueFault('range', 'a range of fractions needs a step or points');
  }
  const width = step ?? 1;
  const count = Math.floor((high - low) / width + 1e-9) + 1;
  if (count > maxValues) throw new ValueFault('range', `it has ${count} values; at most ${maxValues} can be tried`);
  return spaced(low, width, count);
}

/** Rounded to 12 digits, so that 0.1 + 0.2 is 0.3. */
function spaced(low: number, width: number, count: number): number[] {
  const values = Array.from({ length: count }, (_, index) => Number((low + index * width).toPrecision(12)));
  return [...new Set(values)];
}

function listPowers([low, high]: [number, number]): number[] {
  if (low > high) throw new ValueFault('powers', `it runs from ${low} down to ${high}: the lower end comes first`);
  const values: number[] = [];
  for (let power = 1; power <= high && values.length < 53; power *= 2) if (power >= low) values.push(power);
  if (values.length === 0) throw new ValueFault('powers', `there is no power of two from ${low} to ${high}`);
  return values;
}
