/** Arrivals in rising order, with the class of each. */
export interface Events {
  readonly timesNs: Float64Array;
  readonly classOf: Uint16Array;
}

/**
 * Puts arrivals in rising order; those of one time stay as they were. Returns them as they are
 * where they are in order already. A natural merge sort (Knuth, The Art of Computer Programming 3,
 * 5.2.4): what is put together of sorted lists takes little more than reading it.
 */
export function inOrder(events: Events): Events {
  let ends = runEnds(events.timesNs);
  if (ends.length <= 1) return events;
  let from: Events = { timesNs: events.timesNs.slice(), classOf: events.classOf.slice() };
  let to: Events = emptyEvents(events.timesNs.length);
  while (ends.length > 1) {
    const merged: number[] = [];
    for (let run = 0; run < ends.length; run += 2) {
      const end = ends[run + 1] ?? (ends[run] as number);
      merge(from, to, merged.at(-1) ?? 0, ends[run] as number, end);
      merged.push(end);
    }
    [from, to, ends] = [to, from, merged];
  }
  return from;
}

export const emptyEvents = (length: number): Events => ({
  timesNs: new Float64Array(length),
  classOf: new Uint16Array(length),
});

/** Where each run of rising times ends. */
function runEnds(timesNs: Float64Array): number[] {
  const ends: number[] = [];
  for (let index = 1; index < timesNs.length; index++) {
    if ((timesNs[index] as number) < (timesNs[index - 1] as number)) ends.push(index);
  }
  if (timesNs.length > 0) ends.push(timesNs.length);
  return ends;
}

/** Merges the sorted pieces [start, middle) and [middle, end). */
function merge(from: Events, to: Events, start: number, middle: number, end: number): void {
  let [one, other] = [start, middle];
  for (let at = start; at < end; at++) {
    const takesOne = one < middle && (other >= end || (from.timesNs[one] as number) <= (from.timesNs[other] as number));
    const taken = takesOne ? one++ : other++;
    to.timesNs[at] = from.timesNs[taken] as number;
    to.classOf[at] = from.classOf[taken] as number;
  }
}

/** Puts lists of arrivals together, in rising order. */
export function together(parts: readonly Events[]): Events {
  const [only] = parts;
  if (only && parts.length === 1) return inOrder(only);
  const length = parts.reduce((sum, { timesNs }) => sum + timesNs.length, 0);
  const all = emptyEvents(length);
  let at = 0;
  for (const { timesNs, classOf } of parts) {
    all.timesNs.set(timesNs, at);
    all.classOf.set(classOf, at);
    at += timesNs.length;
  }
  return inOrder(all);
}
