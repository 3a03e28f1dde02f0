import { NS_PER_US, nsToMs } from '#base/units.ts';
import type { AgentUse } from '#loadgen/client/cost.ts';
import type { SendTally } from '#loadgen/open-loop.ts';
import type { AgentFigures } from '../client-figures.ts';
import type { ClientLimit } from './client-verdict.ts';

/**
 * Returns the figures of one agent: its clock, its resource use, the outcome of its sends, and
 * whether it was the limit.
 */
export function agentFigures(
  { address, version, cores, threads, clock, use }: AgentUse,
  sends: readonly SendTally[],
  limit: ClientLimit | null,
): AgentFigures {
  const total = (of: (tally: SendTally) => number): number => sends.reduce((sum, tally) => sum + of(tally), 0);
  return {
    address,
    version,
    cores,
    threads,
    clock: {
      offsetMs: nsToMs(clock.offsetNs),
      uncertaintyMs: nsToMs(clock.uncertaintyNs),
      driftMs: nsToMs(clock.driftNs),
      driftUncertaintyMs: nsToMs(clock.driftUncertaintyNs),
    },
    cpuShare: use.cpuShare,
    eventLoopDelayMs: use.longestDelayMs,
    ...(sends.length > 0 && {
      sends: total(({ sent }) => sent),
      lateSends: total(({ late }) => late),
      droppedSends: total(({ dropped }) => dropped),
      sendLatenessP50Us: Math.max(...sends.map(({ lateness }) => lateness.quantileNs(0.5))) / NS_PER_US,
    }),
    bound: limit !== null,
    ...(limit && { reason: limit.reason }),
    ...(limit?.isStarved && { starved: true }),
  };
}
