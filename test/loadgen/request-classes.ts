import type { InferRequest, RequestClass, RequestSet } from '#loadgen/types.ts';
import type { RequestLimits } from '#queueing/continuous/request-limits.ts';
import type { ArrivalPlan } from '#workload/arrival-plan.ts';
import { aRequest } from './simulation.ts';

/** A plan of arrivals in milliseconds, each with the name of its class. */
export function aPlan(arrivals: readonly (readonly [ms: number, name: string])[], durationMs: number): ArrivalPlan {
  const classes = [...new Set(arrivals.map(([, name]) => name))].sort();
  return {
    arrivalsNs: Float64Array.from(arrivals, ([ms]) => ms * 1e6),
    classOf: Uint16Array.from(arrivals, ([, name]) => classes.indexOf(name)),
    classes,
    durationNs: durationMs * 1e6,
  };
}

/** A request that tells its class and its number in it. */
export const named = (name: string, number: number): InferRequest => ({
  ...aRequest,
  parameters: [
    { name: 'class', type: 'string', value: name },
    { name: 'number', type: 'int', value: number },
  ],
});

/** So many requests of each class, in the order of their names. */
export function classedSet(
  classes: readonly (readonly [name: string, requests: number, limits?: RequestLimits])[],
): RequestSet & { readonly classes: readonly RequestClass[] } {
  return {
    ...aRequest,
    requests: classes.flatMap(([name, count]) => Array.from({ length: count }, (_, number) => named(name, number))),
    classes: classes.map(([name, requests, limits]) => ({ name, requests, ...(limits && { limits }) })),
  };
}

/** What `named` has put into the request. */
export const nameOf = ({ parameters = [] }: InferRequest): string => parameters.map(({ value }) => value).join('');
