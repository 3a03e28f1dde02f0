import type { ArrivalPlan } from './arrival-plan.ts';

/** Pieces of a long plan, evenly spread, so that quiet and busy phases have their shares. */
const PIECES = 8;

/**
 * Returns the plan itself if it has at most about `most` requests; otherwise equally long, evenly
 * spread pieces of it, one after another, with about that many requests in total. A simulation of
 * them stands for the whole plan.
 */
export function takeExcerpt(plan: ArrivalPlan, most: number): ArrivalPlan {
  const { arrivalsNs, classOf, classes, durationNs } = plan;
  if (arrivalsNs.length <= most) return plan;
  const pieceNs = (durationNs * most) / arrivalsNs.length / PIECES;
  const times: number[] = [];
  const kinds: number[] = [];
  for (let piece = 0; piece < PIECES; piece++) {
    // In the middle of its part of the plan.
    const beginNs = ((piece + 0.5) * durationNs) / PIECES - pieceNs / 2;
    for (let at = firstFrom(arrivalsNs, beginNs); at < arrivalsNs.length; at++) {
      const sinceNs = (arrivalsNs[at] as number) - beginNs;
      if (sinceNs >= pieceNs) break;
      times.push(piece * pieceNs + sinceNs);
      kinds.push(classOf[at] as number);
    }
  }
  return {
    arrivalsNs: Float64Array.from(times),
    classOf: Uint16Array.from(kinds),
    classes,
    durationNs: PIECES * pieceNs,
  };
}

/** Returns the index of the first arrival at or after `fromNs`, by bisection. */
function firstFrom(arrivalsNs: Float64Array, fromNs: number): number {
  let [low, high] = [0, arrivalsNs.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((arrivalsNs[middle] as number) < fromNs) low = middle + 1;
    else high = middle;
  }
  return low;
}
