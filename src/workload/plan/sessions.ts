import { wholeNumbers } from '#base/distribution.ts';
import { type Random, seededRandom } from '#base/random.ts';
import { NS_PER_MS } from '#base/units.ts';
import type { Sessions } from '../workload.ts';
import { type Events, emptyEvents, inOrder } from './events.ts';

/**
 * Draws that a mean is taken of where no formula gives it: whole numbers within limits have none.
 */
const DRAWS = 65_536;

/**
 * Requests of a session on average; the mean of draws with a fixed seed where the distribution is
 * no constant or uniform one.
 */
export function meanTurns({ turns }: Sessions): number {
  if (turns.kind === 'constant') return wholeNumbers(turns, seededRandom(1), 1)();
  const draw = wholeNumbers(turns, seededRandom(1), 1);
  let sum = 0;
  for (let drawn = 0; drawn < DRAWS; drawn++) sum += draw();
  return sum / DRAWS;
}

/** Draws the lengths of sessions with this many requests in total; the last is cut to fit. */
export function drawTurns({ turns }: Sessions, requests: number, random: Random): readonly number[] {
  const draw = wholeNumbers(turns, random, 1);
  const lengths: number[] = [];
  for (let left = requests; left > 0; left -= lengths.at(-1) as number) lengths.push(Math.min(left, draw()));
  return lengths;
}

/**
 * Lets each start be followed by the other requests of its session, a think time after one another
 * and of the same class. What would come after the end of the pass comes at its beginning instead:
 * played over and over, every moment has the sessions that began before it.
 */
export function withTurns(
  starts: Events,
  lengths: readonly number[],
  { thinkTimeMs }: Sessions,
  durationNs: number,
  random: Random,
): Events {
  const thinkMs = wholeNumbers(thinkTimeMs, random, 0);
  const count = lengths.reduce((sum, length) => sum + length, 0);
  const all = emptyEvents(count);
  let at = 0;
  for (const [session, length] of lengths.entries()) {
    let timeNs = starts.timesNs[session] as number;
    for (let turn = 0; turn < length; turn++) {
      if (turn > 0) timeNs += thinkMs() * NS_PER_MS;
      all.timesNs[at] = timeNs % durationNs;
      all.classOf[at] = starts.classOf[session] as number;
      at++;
    }
  }
  return inOrder(all);
}
