import type { Change } from '../../stats/change.ts';
import type { Reading } from './readings.ts';

/**
 * The verdict on one figure. `regression`: surely worse by more than the tolerance. `worse`, `better`: surely so, but no regression. `same`: no
 * difference found, and a large change for the worse is ruled out. `unsure`: no difference found, but the figure may be much worse. `missing`: the
 * run does not have the figure.
 */
export type GateVerdict = 'regression' | 'worse' | 'same' | 'unsure' | 'better' | 'missing';

/** A change for the worse that "no difference" must rule out, as a share; the tolerance where that is larger. */
const LARGE_CHANGE = 0.2;

/**
 * Returns the verdict by the interval of the change. An interval that includes no change is no regression. It says "no difference" only if it rules
 * out a change for the worse of more than `LARGE_CHANGE`, or than the tolerance where that is larger; a wider one is too unsure.
 */
export function verdictOf({ better }: Pick<Reading, 'better'>, { low, high }: Change, tolerance: number): GateVerdict {
  // The interval as the share by which the figure is worse: a rate that falls to 0.9, and a latency that rises to 1.1, are 0.1 worse.
  const [least, most] = better === 'higher' ? [1 - high, 1 - low] : [low - 1, high - 1];
  if (least > tolerance) return 'regression';
  if (least > 0) return 'worse';
  if (most < 0) return 'better';
  return most <= Math.max(LARGE_CHANGE, tolerance) ? 'same' : 'unsure';
}
