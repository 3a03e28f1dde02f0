/** Load levels from `start` to `end`, both included, by `step`; an `end` of 0 goes on until the limit of latency is met. */
export interface SweepRange {
  readonly start: number;
  readonly end: number;
  readonly step: number;
}

/** `binary`: look for the highest level within the limit of latency; `wholeLevels`: only whole numbers are levels. */
export interface SweepPlan {
  readonly range: SweepRange;
  readonly order: 'linear' | 'binary';
  readonly wholeLevels: boolean;
}

/** Measures one level; true when its latency is within the limit. */
export type MeasureLevel = (value: number) => Promise<boolean>;

/**
 * Measures level after level. Linear: upwards, up to the first one that is over the limit. Binary: the first level must be
 * within the limit and the last one over it, or there is nothing between to look for; then halves what is left until it is
 * no wider than the step.
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

/** A sum of steps may come out a trifle above the end that it is meant to meet. */
const ROUNDING = 1e-6;

async function sweepUp({ start, end, step }: SweepRange, measure: MeasureLevel): Promise<void> {
  for (let index = 0; ; index++) {
    const value = start + index * step;
    if (end !== 0 && value > end + ROUNDING * step) return;
    if (!(await measure(value))) return;
  }
}
