/** The number of requests that other models get per request to one model. */
export type Rates = ReadonlyMap<string, number>;

/** A lower rate does not count as a request. */
const NOTHING = 0.01;

/**
 * Returns the requests that a model sends itself: all effects of its request (`through`) except
 * those caused by other models among them. `behind` returns the effects of a request to such a
 * model.
 */
export function directCalls(through: Rates, behind: (model: string) => Rates): Rates {
  const left = new Map(through);
  const direct = new Map<string, number>();
  while (left.size > 0) {
    const names = [...left.keys()];
    // None of the remaining models calls it. In a circle of calls, any model will do.
    const next = names.find((name) => names.every((other) => !behind(other).has(name))) ?? (names[0] as string);
    const rate = left.get(next) as number;
    left.delete(next);
    if (rate < NOTHING) continue;
    direct.set(next, rate);
    for (const [model, each] of behind(next))
      if (left.has(model)) left.set(model, (left.get(model) as number) - rate * each);
  }
  return direct;
}

/** Returns `rates` plus the effects of each request in it. */
export function withBehind(rates: Rates, behind: (model: string) => Rates): Rates {
  const all = new Map(rates);
  for (const [model, rate] of rates)
    for (const [further, each] of behind(model)) all.set(further, (all.get(further) ?? 0) + rate * each);
  return all;
}
