import { addedBreakdowns } from '../added-breakdowns.ts';
import type { Measurement, ServerBreakdown } from '../measurement.ts';

type ServerSide = Pick<Measurement, 'server' | 'serverNote' | 'composing'>;

/**
 * Returns what the server says of the same models under all workloads together: counts added up, means over requests, and executions by batch size. null,
 * with the reason, where it said nothing under one of them.
 */
export function mergedServer(parts: readonly ServerSide[]): ServerSide {
  const servers: ServerBreakdown[] = [];
  for (const { server, serverNote } of parts) {
    if (server === null) return { server: null, ...(serverNote !== undefined && { serverNote }) };
    servers.push(server);
  }
  const composing = Map.groupBy(
    parts.flatMap((part) => part.composing ?? []),
    ({ model, version }) => JSON.stringify([model, version]),
  );
  return {
    server: merged(servers),
    ...(composing.size > 0 && {
      composing: [...composing.values()].map((same) => {
        const { model, version } = same[0] as (typeof same)[number];
        return { model, version, ...merged(same) };
      }),
    }),
  };
}

function merged(servers: readonly ServerBreakdown[]): ServerBreakdown {
  const bySize = Map.groupBy(
    servers.flatMap(({ batches }) => batches),
    ({ size }) => size,
  );
  const batches = [...bySize].map(([size, same]) => {
    const executions = same.reduce((sum, each) => sum + each.executions, 0);
    const us = same.reduce((sum, each) => sum + each.executions * each.meanExecutionUs, 0);
    return { size, executions, meanExecutionUs: executions > 0 ? us / executions : 0 };
  });
  return { ...addedBreakdowns(servers), batches: batches.sort((a, b) => a.size - b.size) };
}
