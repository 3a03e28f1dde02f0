import { MS_PER_S } from '../base/units.ts';
import type { Topology } from '../space/topology.ts';
import type { Measurement, ServerBreakdown } from './measurement.ts';

/**
 * Returns the server's figures of each stage, by the model's name, in the order of the topology. A stage that the server gave no statistics of is
 * left out. A model that is called from several fronts has one breakdown, for all its requests.
 */
export function stageBreakdowns(
  { server, composing = [], fronts = [] }: Measurement,
  topology: Topology,
): ReadonlyMap<string, ServerBreakdown> {
  const [only, ...others] = topology.fronts;
  const own = only && others.length === 0 ? [{ model: only.model, server }] : fronts;
  const found = new Map<string, ServerBreakdown>();
  for (const front of own) if (front.server) found.set(front.model, front.server);
  for (const { model, version: _, ...breakdown } of [
    ...composing,
    ...fronts.flatMap((front) => front.composing ?? []),
  ]) {
    found.set(model, breakdown);
  }
  return new Map(
    topology.stages.flatMap((stage) => {
      const breakdown = found.get(stage);
      return breakdown ? [[stage, breakdown] as const] : [];
    }),
  );
}

/** Returns for how long the requests in a stage's figures were counted, in milliseconds: as those of the front whose requests they are. */
export function countedMs({ durationMs, fronts = [] }: Measurement, stage: string): number {
  const front = fronts.findLast((each) => each.composing?.some(({ model }) => model === stage));
  return (front ?? fronts.find(({ model }) => model === stage))?.durationMs ?? durationMs;
}

/** Returns the answered requests per second of all fronts together. */
export function answeredPerSecond(measurement: Measurement): number {
  const fronts = measurement.fronts ?? [measurement];
  return fronts.reduce((sum, { requests, errorRate, durationMs }) => {
    return durationMs > 0 ? sum + (requests * (1 - errorRate) * MS_PER_S) / durationMs : sum;
  }, 0);
}
