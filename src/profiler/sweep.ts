/**
 * Load levels from `start` to `end` inclusive, in steps of `step`. With an `end` of 0 the sweep
 * continues until the latency limit is reached.
 */
export interface SweepRange {
  readonly start: number;
  readonly end: number;
  readonly step: number;
}

/**
 * `binary`: search for the highest level within the latency limit. `wholeLevels`: use only whole
 * numbers as levels.
 */
export interface SweepPlan {
  readonly range: SweepRange;
  readonly order: 'linear' | 'binary';
  readonly wholeLevels: boolean;
}

/** Measures one level; true if its latency is within the limit. */
export type MeasureLevel = (value: number) => Promise<boolean>;

/**
 * Measures one level after another. A linear sweep goes up to the first level that is over the
 * limit. A binary search needs a first level within the limit and a last level over it; it then
 * halves the range until it is no wider than the step.
 */
export async function sweep({ range, order, wholeLevels }: SweepPlan, measure: MeasureLevel): Promise<void> {
  if (order === 'linear') return sweepUp(range, measure);
  const { start, end, step } = range;
  if (!(await measure(start)) || end === start || (await measure(end))) return;
  let [within, over] = [start, end];
  while (over - within > step) {
    const middle = (within + over) / 2;
    const value = wholeLevels ? Math.floor(middle) : middle;
    if (await measure(value)) within = value;
    else over = value;
  }
}

/** A sum of steps may slightly exceed the end that it should reach. */
const ROUNDING = 1e-6;

async function sweepUp({ start, end, step }: SweepRange, measure: MeasureLevel): Promise<void> {
  for (let index = 0; ; index++) {
    const value = start + index * step;
    if (end !== 0 && value > end + ROUNDING * step) return;
    if (!(await measure(value))) return;
  }
}
