import { lookUp } from '#base/look-up.ts';
import type { Step } from '#queueing/network/types.ts';

/**
 * The models that a study tunes together: those that clients call, and those that requests pass
 * through. The journal keeps it.
 */
export interface Topology {
  /** One for an ensemble or a BLS model; co-located models have one each. */
  readonly fronts: readonly TopologyFront[];
  /** The models with instances of their own, in the order in which requests reach them. */
  readonly stages: readonly string[];
  /** BLS models by name, with the models that they call. The number of calls is measured. */
  readonly calls?: { readonly [model: string]: readonly string[] };
}

/** A model that clients call. */
export interface TopologyFront {
  readonly model: string;
  /** The steps of an ensemble, with their nesting; any other model is its own only step. */
  readonly steps: readonly Step[];
  /** Its share of the level relative to the other shares; 1 if neither share nor rate is given. */
  readonly share?: number;
  /** Requests per second that it gets at any level. */
  readonly requestsPerSecond?: number;
}

/** A load level, as the load generator takes it. */
interface Level {
  readonly mode: 'concurrency' | 'request-rate';
  readonly value: number;
}

/**
 * Returns the level of each front, in their order, when the study measures at `level`. Fronts with
 * a share divide it: requests in flight as whole numbers, at least one each, by the largest
 * remainder; rates exactly. Fronts with a fixed rate keep it.
 */
export function frontLevels<L extends Level>({ fronts }: Pick<Topology, 'fronts'>, level: L): L[] {
  const shares = fronts.map(({ share = 1, requestsPerSecond }) => (requestsPerSecond === undefined ? share : 0));
  const total = shares.reduce((sum, share) => sum + share, 0);
  const exact = shares.map((share) => (level.value * share) / total);
  const values = level.mode === 'concurrency' ? wholeParts(exact, level.value) : exact;
  return fronts.map(({ requestsPerSecond }, index) =>
    requestsPerSecond === undefined
      ? { ...level, value: values[index] as number }
      : { ...level, mode: 'request-rate', value: requestsPerSecond },
  );
}

/**
 * Returns the stages that requests of the front reach, with the number of requests that each of the
 * front's makes there: one for each place among the steps. null behind a BLS model, where only a
 * measurement shows it.
 */
export function countStages(
  { steps }: Pick<TopologyFront, 'steps'>,
  { calls = {} }: Pick<Topology, 'calls'>,
): ReadonlyMap<string, number | null> {
  const reached = new Map<string, number | null>();
  const take = (among: readonly Step[]): void => {
    for (const step of among) {
      if ('steps' in step) take(step.steps);
      else reached.set(step.stage, (reached.get(step.stage) ?? 0) + 1);
    }
  };
  take(steps);
  // Stages added during the loop are visited too.
  for (const stage of reached.keys()) for (const called of lookUp(calls, stage) ?? []) reached.set(called, null);
  return reached;
}

/**
 * Rounds parts of `whole` so that their sum is kept; parts above zero get at least one, even where
 * that exceeds the sum.
 */
function wholeParts(exact: readonly number[], whole: number): number[] {
  const parts = exact.map((part) => (part > 0 ? Math.max(1, Math.floor(part)) : 0));
  const left = whole - parts.reduce((sum, part) => sum + part, 0);
  const byRemainder = exact
    .map((part, index) => ({ index, remainder: part - (parts[index] as number) }))
    .sort((a, b) => b.remainder - a.remainder);
  for (const { index, remainder } of byRemainder.slice(0, Math.max(0, left))) {
    if (remainder > 0) parts[index] = (parts[index] as number) + 1;
  }
  return parts;
}
