import { MS_PER_S } from '#base/units.ts';
import type { Topology } from '#space/topology.ts';
import type { Measurement } from './measurement.ts';
import type { ServerBreakdown } from './server-figures.ts';

/**
 * Returns the server's figures of each stage, by model name, in the order of the topology. Leaves
 * out stages without server statistics. A model that several fronts call has one breakdown for all
 * its requests.
 */
export function stageBreakdowns(
  { server, composing = [], fronts = [] }: Measurement,
  topology: Topology,
): ReadonlyMap<string, ServerBreakdown> {
  const [only, ...others] = topology.fronts;
  const parts = only && others.length === 0 ? [{ model: only.model, server }] : fronts;
  const breakdowns = new Map<string, ServerBreakdown>();
  for (const front of parts) if (front.server) breakdowns.set(front.model, front.server);
  for (const { model, version: _, ...breakdown } of [
    ...composing,
    ...fronts.flatMap((front) => front.composing ?? []),
  ]) {
    breakdowns.set(model, breakdown);
  }
  return new Map(
    topology.stages.flatMap((stage) => {
      const breakdown = breakdowns.get(stage);
      return breakdown ? [[stage, breakdown] as const] : [];
    }),
  );
}

/**
 * Returns how long the requests in a stage's figures were counted, in milliseconds: as long as
 * those of the front that they belong to.
 */
export function countedMs({ durationMs, fronts = [] }: Measurement, stage: string): number {
  const front = fronts.findLast((each) => each.composing?.some(({ model }) => model === stage));
  return (front ?? fronts.find(({ model }) => model === stage))?.durationMs ?? durationMs;
}

/** Returns the answered requests per second over all fronts. */
export function answeredPerSecond(measurement: Measurement): number {
  const fronts = measurement.fronts ?? [measurement];
  return fronts.reduce((sum, { requests, errorRate, durationMs }) => {
    return durationMs > 0 ? sum + (requests * (1 - errorRate) * MS_PER_S) / durationMs : sum;
  }, 0);
}
