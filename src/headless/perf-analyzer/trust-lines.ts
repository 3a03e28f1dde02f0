import { formatDuration, formatFigure, formatMs, formatRate, plainLine } from '#base/format.ts';
import type { UnheldRate } from '#profiler/client-figures.ts';
import type { LevelReport } from '#profiler/level-report.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { chooseRateUnit } from '#study/summary/rate-unit.ts';
import { agentLines } from '../agent-lines.ts';

/**
 * Returns what perf_analyzer's lines lack: how sure the figures are, when latency starts to count,
 * what failed, and who the limit was.
 */
export function trustLines({ measurement }: LevelReport): readonly string[] {
  const { throughput, budgetLatencyMs, openLoop, client, windows, durationMs } = measurement;
  const from = openLoop ? ' from the time due' : '';
  return [
    '  Trust: ',
    `    Throughput: ${formatRate(throughput.value, chooseRateUnit(measurement))}, 95 % interval ${formatFigure(throughput.low)} to ${formatFigure(throughput.high)}`,
    `    p${budgetLatencyMs.percentile} latency${from}: ${formatMs(budgetLatencyMs.value)}, 95 % interval ${formatMs(budgetLatencyMs.low)} to ${formatMs(budgetLatencyMs.high)}`,
    ...(openLoop
      ? [
          `    Latency from the time due: avg ${formatMs(openLoop.scheduledLatencyMs.avg)}, p50 ${formatMs(openLoop.scheduledLatencyMs.p50)}, p99 ${formatMs(openLoop.scheduledLatencyMs.p99)}; ${openLoop.lateSends} sends late, ${openLoop.droppedSends} not sent`,
        ]
      : []),
    `    Measured: ${formatDuration(durationMs / 1e3)} in ${windows} ${windows === 1 ? 'window' : 'windows'}, ${stabilityText(measurement)}`,
    `    Client: ${formatFigure(client.cpuUsPerRequest)} usec of CPU per request${clientWords(client)}`,
    ...(client.unheldRate ? [`    Rate: NOT HELD, ${unheldWords(client.unheldRate)}`] : []),
    ...agentLines(client.agents ?? []).map((line) => `    ${line}`),
    ...failureLines(measurement),
    ...(measurement.serverNote === undefined ? [] : [`    Server statistics: ${plainLine(measurement.serverNote)}`]),
    ...(measurement.foreignRequests === undefined
      ? []
      : [`    Foreign traffic: other clients sent ${measurement.foreignRequests} requests`]),
    '',
  ];
}

/** A client that kept the rate from being held is named on the next line. */
function clientWords({ bound, reason = '', unheldRate }: Measurement['client']): string {
  if (bound) return `; THE CLIENT WAS THE LIMIT: ${plainLine(reason)}`;
  return unheldRate === undefined || unheldRate.by === 'server' ? '; not the limit' : '';
}

const limits = {
  client: 'THE CLIENT WAS THE LIMIT',
  server: 'THE SERVER WAS THE LIMIT',
  machine: 'THIS MACHINE WAS THE LIMIT',
} as const;

const unheldWords = ({ by, reason }: UnheldRate): string => `${limits[by]}: ${plainLine(reason)}`;

/** A single window has nothing to be compared with. */
const stabilityText = ({ stable, windows }: LevelReport['measurement']): string =>
  !stable ? 'NOT STABLE' : windows > 1 ? 'stable' : 'too short to tell if it is stable';

const failureLines = ({ failures, errorRate }: LevelReport['measurement']): readonly string[] =>
  failures.length === 0
    ? []
    : [
        `    Failed: ${formatFigure(errorRate * 100)} % of the requests`,
        ...failures.map(({ kind, count, firstMessage }) => `      ${count} × ${kind}: ${plainLine(firstMessage)}`),
      ];
