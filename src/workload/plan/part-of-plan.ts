import type { ArrivalPlan } from '../arrival-plan.ts';

/**
 * Returns the arrivals of some classes of a plan, by their indexes, at the same times; the part has
 * those classes in the order given.
 */
export function partOfPlan(
  { arrivalsNs, classOf, classes, durationNs }: ArrivalPlan,
  indexes: readonly number[],
): ArrivalPlan {
  const isAll = indexes.length === classes.length && indexes.every((index, at) => index === at);
  if (isAll) return { arrivalsNs, classOf, classes, durationNs };
  const places = new Map(indexes.map((index, at) => [index, at]));
  const chosen: number[] = [];
  for (let arrival = 0; arrival < classOf.length; arrival++) {
    if (places.has(classOf[arrival] as number)) chosen.push(arrival);
  }
  return {
    arrivalsNs: Float64Array.from(chosen, (arrival) => arrivalsNs[arrival] as number),
    classOf: Uint16Array.from(chosen, (arrival) => places.get(classOf[arrival] as number) as number),
    classes: indexes.map((index) => classes[index] as string),
    durationNs,
  };
}

/** Returns how many requests of each class a pass of the plan has, in the order of the classes. */
export function classCounts({ classOf, classes }: ArrivalPlan): readonly number[] {
  const counts = classes.map(() => 0);
  for (const each of classOf) (counts[each] as number)++;
  return counts;
}
