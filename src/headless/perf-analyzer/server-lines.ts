import { plainLine } from '#base/format.ts';
import type { ServerReport } from '#profiler/level-report.ts';
import { wholeUs } from './figures.ts';

/**
 * Returns the server's side of a level, including the models of an ensemble; no lines without
 * statistics.
 */
export function serverLines(server: ServerReport | null): readonly string[] {
  return server === null ? [] : ['  Server: ', ...modelLines(server, '    ')];
}

function modelLines(server: ServerReport, indent: string): string[] {
  const { cache, composing } = server;
  const lines = [
    `Inference count: ${server.inferenceCount}`,
    `Execution count: ${server.executionCount}`,
    ...(cache ? [`Cache hit count: ${cache.hitCount}`, `Cache miss count: ${cache.missCount}`] : []),
    `Successful request count: ${server.successCount}`,
    `Avg request latency: ${wholeUs(server.requestUs)} usec (${formatParts(server)})`,
    ...(cache ? cacheLines(server) : []),
  ].map((line) => indent + line);
  if (composing.length === 0) return lines;
  return [
    ...lines,
    '',
    `${indent}Composing models: `,
    ...composing.flatMap((inner) => [
      `${indent}${plainLine(inner.model)}, version: ${plainLine(inner.version)}`,
      ...modelLines(inner, `${indent}    `),
    ]),
  ];
}

function formatParts(server: ServerReport): string {
  const { overheadUs, queueUs, computeInputUs, computeInferUs, computeOutputUs, cache, composing } = server;
  const parts: readonly (readonly [string, number])[] = cache
    ? [['cache hit/miss', cache.hitUsPerRequest + cache.missUsPerRequest]]
    : composing.length > 0
      ? [['compute', computeInputUs + computeInferUs + computeOutputUs]]
      : [
          ['compute input', computeInputUs],
          ['compute infer', computeInferUs],
          ['compute output', computeOutputUs],
        ];
  return [['overhead', overheadUs] as const, ['queue', queueUs] as const, ...parts]
    .map(([name, us]) => `${name} ${wholeUs(us)} usec`)
    .join(' + ');
}

function cacheLines({ cache, computeInputUs, computeInferUs, computeOutputUs }: ServerReport): readonly string[] {
  if (!cache) return [];
  const missUs = cache.missUs + computeInputUs + computeInferUs + computeOutputUs;
  return [
    `  Average Cache Hit Latency: ${wholeUs(cache.hitUs)} usec`,
    `  Average Cache Miss Latency: ${wholeUs(missUs)} usec (cache lookup/insertion ${wholeUs(cache.missUs)} usec + compute input ${wholeUs(computeInputUs)} usec + compute infer ${wholeUs(computeInferUs)} usec + compute output ${wholeUs(computeOutputUs)} usec)`,
  ];
}
