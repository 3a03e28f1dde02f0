import type { Measurement } from './measurement.ts';
import { requestsServed } from './server-breakdown.ts';
import type { StatisticsReading } from './server-side.ts';

/**
 * A model between two readings, both taken while none of our requests were in flight, and our
 * requests in between.
 */
export interface AtRest {
  readonly model: string;
  /** Model version of the requests; '' for any. */
  readonly version: string;
  readonly before: StatisticsReading;
  readonly after: StatisticsReading;
  /** Requests that we sent to it or caused there; null if unknown. */
  readonly ours: number | null;
  readonly mostInFlight: number;
}

/**
 * Returns the requests of other clients for each model. The server may count the last requests of
 * an earlier level only after it has answered them, so an excess that they could explain is
 * ignored. A model that several fronts send to has one entry per front.
 */
export function foreignTraffic(models: readonly AtRest[]): Pick<Measurement, 'foreignRequests' | 'foreignByModel'> {
  const counts = [...Map.groupBy(models, ({ model }) => model)].flatMap(([model, entries]) => {
    const excess = findExcess(entries);
    return excess === null ? [] : [[model, excess] as const];
  });
  if (counts.length === 0) return {};
  const [one] = models;
  const foreignRequests = counts.reduce((sum, [, excess]) => sum + excess, 0);
  const isOne = models.every(({ model }) => model === one?.model);
  return { foreignRequests, ...(!isOne && { foreignByModel: Object.fromEntries(counts) }) };
}

function findExcess(entries: readonly AtRest[]): number | null {
  const { before, after, version } = entries[0] as AtRest;
  if ('unread' in before || 'unread' in after) return null;
  if (entries.some(({ ours }) => ours === null)) return null;
  const ours = entries.reduce((sum, each) => sum + (each.ours ?? 0), 0);
  const mostInFlight = entries.reduce((sum, each) => sum + each.mostInFlight, 0);
  const excess = (requestsServed(before, after, version) ?? 0) - ours;
  return excess > Math.max(2 * mostInFlight, ours / 100) ? excess : null;
}
