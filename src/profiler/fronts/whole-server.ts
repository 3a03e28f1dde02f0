import { addedBreakdowns } from '../added-breakdowns.ts';
import type { Measurement } from '../measurement.ts';
import type { ServerBreakdown } from '../server-figures.ts';
import type { FrontResult } from './measure-front.ts';

type ServerSide = Pick<Measurement, 'server' | 'serverNote'>;

/**
 * Returns the server's figures of all fronts together: means over their requests, and counts scaled
 * to the same length of time. Has no batch sizes, because executions of different models have none
 * in common. null, with the reason, if the figures of one front are null.
 */
export function wholeServer(fronts: readonly (FrontResult & { readonly times: number })[]): ServerSide {
  const servers: ServerBreakdown[] = [];
  for (const { frontFigures: own, options, times } of fronts) {
    if (own.server === null) {
      const { serverNote } = own;
      return {
        server: null,
        ...(serverNote !== undefined && { serverNote: `${options.requests.model}: ${serverNote}` }),
      };
    }
    servers.push(countedTimes(own.server, times));
  }
  return { server: addedBreakdowns(servers) };
}

function countedTimes(server: ServerBreakdown, times: number): ServerBreakdown {
  const count = (each: number): number => Math.round(each * times);
  const { cache } = server;
  return {
    ...server,
    successCount: count(server.successCount),
    inferenceCount: count(server.inferenceCount),
    executionCount: count(server.executionCount),
    failCount: count(server.failCount),
    cache: { ...cache, hitCount: count(cache.hitCount), missCount: count(cache.missCount) },
  };
}
