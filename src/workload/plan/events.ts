/** Arrivals in rising order, with the class of each. */
export interface Events {
  readonly timesNs: Float64Array;
  readonly classOf: Uint16Array;
}

/** Puts arrivals in rising order; those of one time stay as they were. Returns them as they are where they are in order already. */
export function inOrder(events: Events): Events {
  const { timesNs, classOf } = events;
  if (isRising(timesNs)) return events;
  if (classOf.every((each) => each === classOf[0])) return { timesNs: timesNs.toSorted(), classOf };
  const order = Uint32Array.from(timesNs, (_, index) => index);
  order.sort((one, other) => (timesNs[one] as number) - (timesNs[other] as number) || one - other);
  return {
    timesNs: Float64Array.from(order, (index) => timesNs[index] as number),
    classOf: Uint16Array.from(order, (index) => classOf[index] as number),
  };
}

/** Puts lists of arrivals together, in rising order. */
export function together(parts: readonly Events[]): Events {
  const [only] = parts;
  if (only && parts.length === 1) return inOrder(only);
  const length = parts.reduce((sum, { timesNs }) => sum + timesNs.length, 0);
  const all = { timesNs: new Float64Array(length), classOf: new Uint16Array(length) };
  let at = 0;
  for (const { timesNs, classOf } of parts) {
    all.timesNs.set(timesNs, at);
    all.classOf.set(classOf, at);
    at += timesNs.length;
  }
  return inOrder(all);
}

export function isRising(times: Float64Array): boolean {
  for (let index = 1; index < times.length; index++) {
    if ((times[index] as number) < (times[index - 1] as number)) return false;
  }
  return true;
}
