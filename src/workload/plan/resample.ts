import type { Random } from '#base/random.ts';
import { NS_PER_S } from '#base/units.ts';
import { type Events, emptyEvents, inOrder, together } from './events.ts';

/**
 * Returns exactly `count` arrivals with the shape of the recorded ones, within [0, durationNs).
 *
 * Fewer: thinning. A random choice, every subset of that size as likely as any other, which is
 * independent thinning given its number (Lewis and Shedler, Naval Research Logistics Quarterly 26,
 * 1979). What is above Poisson in the variance of counts shrinks with it.
 *
 * More: superposition (Cox and Isham, Point Processes, 1980, section 4.5). All recorded arrivals as
 * they are, and further copies of them, of which the last is thinned. Each copy is moved by a
 * displacement of its own, at most `MAX_MOVE_S`, that drifts slowly along the trace: gaps within a
 * copy hardly change, and rates over a second or more keep their shape. Well below that the copies
 * are as good as independent, as further users of the same kind are.
 */
export function resampled(recorded: Events, durationNs: number, count: number, random: Random): Events {
  const known = recorded.timesNs.length;
  if (count === known) return recorded;
  if (count < known) return thinned(recorded, count, random);
  const parts = [recorded];
  for (let left = count - known; left > 0; left -= known) {
    parts.push(moved(left < known ? thinned(recorded, left, random) : recorded, durationNs, known, random));
  }
  return together(parts);
}

/**
 * Chooses one after the other, each with the chance that is left (Knuth, The Art of Computer
 * Programming 2, 3.4.2, algorithm S).
 */
function thinned({ timesNs, classOf }: Events, count: number, random: Random): Events {
  const kept = emptyEvents(count);
  let at = 0;
  for (let index = 0; at < count; index++) {
    if ((timesNs.length - index) * random.float() >= count - at) continue;
    kept.timesNs[at] = timesNs[index] as number;
    kept.classOf[at] = classOf[index] as number;
    at++;
  }
  return kept;
}

/** A copy is moved by no more than this, */
const MAX_MOVE_S = 0.5;
/** or by this many mean gaps, so that copies of a sparse trace do not lie on each other, */
const MAX_MOVE_GAPS = 5;
/** and in no case by more than this part of the trace. */
const MAX_MOVE_SHARE = 1 / 16;
/**
 * From one drawn displacement to the next, in displacements: gaps change by at most a quarter
 * between them.
 */
const KNOT_SPACING = 8;

/**
 * Moves arrivals by random displacements at even distances and straight lines between them; what
 * leaves one end comes in at the other.
 */
function moved({ timesNs, classOf }: Events, durationNs: number, known: number, random: Random): Events {
  const mostNs = Math.min(
    Math.max(MAX_MOVE_S * NS_PER_S, (MAX_MOVE_GAPS * durationNs) / known),
    MAX_MOVE_SHARE * durationNs,
  );
  const stretches = Math.ceil(durationNs / (KNOT_SPACING * mostNs));
  const knots = Float64Array.from({ length: stretches }, () => (2 * random.float() - 1) * mostNs);
  const moves = timesNs.map((timeNs) => {
    const place = (timeNs / durationNs) * stretches;
    const before = Math.min(stretches - 1, Math.floor(place));
    const [from, to] = [knots[before] as number, knots[(before + 1) % stretches] as number];
    const movedNs = timeNs + from + (to - from) * (place - before);
    return (movedNs + durationNs) % durationNs;
  });
  return inOrder({ timesNs: moves, classOf });
}

/**
 * Spreads arrivals that were recorded by a clock of this step evenly over one step; none leaves the
 * duration.
 */
export function spread(recorded: Events, resolutionNs: number, durationNs: number, random: Random): Events {
  if (resolutionNs === 0) return recorded;
  const timesNs = recorded.timesNs.map((timeNs) => {
    const stepNs = Math.min(resolutionNs, durationNs - timeNs);
    return timeNs + random.float() * stepNs;
  });
  return inOrder({ timesNs, classOf: recorded.classOf });
}
