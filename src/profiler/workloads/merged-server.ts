import { decidingIndex, type RobustRule, robustFigure } from '#workload/robust-rule.ts';
import { addedBreakdowns } from '../added-breakdowns.ts';
import type { Measurement } from '../measurement.ts';
import type { ServerBreakdown } from '../server-figures.ts';

type ServerSide = Pick<Measurement, 'server' | 'serverNote' | 'composing'>;

/** The server's figures under one workload. */
interface ServerUnder {
  readonly weight: number;
  readonly seen: ServerSide & Pick<Measurement, 'latencyMs'>;
}

/** Combines the breakdowns of one model under each workload, in order. */
type Merge = (servers: readonly ServerBreakdown[]) => ServerBreakdown;

/**
 * Returns the server's figures of the same models under all workloads. Counts, and executions by
 * batch size, are added up. The times of a request are those under the workload whose mean latency
 * the rule takes, so that they are parts of it; with the mean rule they are means too. null, with
 * the reason, if the server reported nothing under one of the workloads.
 */
export function mergedServer(rule: RobustRule, parts: readonly ServerUnder[]): ServerSide {
  const servers: ServerBreakdown[] = [];
  for (const { seen } of parts) {
    const { server, serverNote } = seen;
    if (server === null) return { server: null, ...(serverNote !== undefined && { serverNote }) };
    servers.push(server);
  }
  const merge = mergeBy(rule, parts);
  const [first] = parts;
  const composing = (first?.seen.composing ?? []).flatMap(({ model, version }) => {
    const same = parts.flatMap(({ seen }) => seen.composing?.find((each) => each.model === model) ?? []);
    return same.length === parts.length ? [{ model, version, ...merge(same) }] : [];
  });
  return { server: merge(servers), ...(composing.length > 0 && { composing }) };
}

function mergeBy(rule: RobustRule, parts: readonly ServerUnder[]): Merge {
  const deciding = decidingIndex(
    rule,
    'lower',
    parts.map(({ weight, seen }) => ({ weight, value: seen.latencyMs.avg })),
  );
  return (servers) => {
    const time = (of: (server: ServerBreakdown) => number): number =>
      rule.kind === 'mean'
        ? robustFigure(
            rule,
            'lower',
            servers.map((server, place) => ({ weight: parts[place]?.weight ?? 1, value: of(server) })),
          )
        : of(servers[deciding] as ServerBreakdown);
    return {
      ...addedBreakdowns(servers),
      queueUs: time(({ queueUs }) => queueUs),
      computeInputUs: time(({ computeInputUs }) => computeInputUs),
      computeInferUs: time(({ computeInferUs }) => computeInferUs),
      computeOutputUs: time(({ computeOutputUs }) => computeOutputUs),
      overheadUs: time(({ overheadUs }) => overheadUs),
      requestUs: time(({ requestUs }) => requestUs),
      batches: addedBatches(servers),
    };
  };
}

function addedBatches(servers: readonly ServerBreakdown[]): ServerBreakdown['batches'] {
  const bySize = Map.groupBy(
    servers.flatMap(({ batches }) => batches),
    ({ size }) => size,
  );
  return [...bySize]
    .map(([size, same]) => {
      const executions = same.reduce((sum, each) => sum + each.executions, 0);
      const us = same.reduce((sum, each) => sum + each.executions * each.meanExecutionUs, 0);
      return { size, executions, meanExecutionUs: executions > 0 ? us / executions : 0 };
    })
    .sort((a, b) => a.size - b.size);
}
