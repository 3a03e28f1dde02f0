import { TrituneError } from '#base/errors.ts';
import { seededRandom } from '#base/random.ts';
import { NS_PER_S } from '#base/units.ts';

/** A period at one rate. */
export interface RatePhase {
  readonly perSecond: number;
  readonly seconds: number;
}

/** The maximum number of requests kept in a list. */
const MAX_ARRIVALS = 20_000_000;

/**
 * Returns the due times of requests whose rate changes from phase to phase, in nanoseconds from the
 * start of the first phase: a Poisson process by its rate's integral (time change of a process of
 * rate 1), or even gaps. Errors: USAGE for more requests than a list can hold.
 */
export function burstArrivals(
  phases: readonly RatePhase[],
  { seed, distribution }: { readonly seed: number; readonly distribution: 'constant' | 'poisson' },
): readonly number[] {
  const all = phases.reduce((sum, { perSecond, seconds }) => sum + perSecond * seconds, 0);
  if (all > MAX_ARRIVALS) {
    throw new TrituneError(
      'USAGE',
      `a burst of ${Math.round(all)} requests is too large`,
      'make it shorter or smaller',
    );
  }
  const random = seededRandom(seed);
  const gap = (): number => (distribution === 'poisson' ? -Math.log(1 - random.float()) : 1);
  const arrivalsNs: number[] = [];
  let [dueAt, startNs, expectedSoFar] = [gap(), 0, 0];
  for (const { perSecond, seconds } of phases) {
    const expected = perSecond * seconds;
    for (; dueAt < expectedSoFar + expected; dueAt += gap()) {
      arrivalsNs.push(startNs + ((dueAt - expectedSoFar) / perSecond) * NS_PER_S);
    }
    expectedSoFar += expected;
    startNs += seconds * NS_PER_S;
  }
  return arrivalsNs;
}
