/** Requests that other models get for each request of one. */
export type Rates = ReadonlyMap<string, number>;

/** Less than this is no request. */
const NOTHING = 0.01;

/**
 * Returns the requests that a model sends itself: of all that its request brings about (`through`) those that are not explained by the models
 * among them. `behind` gives what a request of such a model brings about in turn.
 */
export function directCalls(through: Rates, behind: (model: string) => Rates): Rates {
  const left = new Map(through);
  const direct = new Map<string, number>();
  while (left.size > 0) {
    const names = [...left.keys()];
    // Nobody else among those that are left calls it. Where they call each other in a circle any is as good.
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

/** Returns `rates` and what each request among them brings about. */
export function withBehind(rates: Rates, behind: (model: string) => Rates): Rates {
  const all = new Map(rates);
  for (const [model, rate] of rates)
    for (const [further, each] of behind(model)) all.set(further, (all.get(further) ?? 0) + rate * each);
  return all;
}
