import { NS_PER_US, nsToMs } from '#base/units.ts';
import type { AgentUse, ClientUse } from '#loadgen/client/cost.ts';
import { defaultOpenLoopRule, type SendTally } from '#loadgen/open-loop.ts';
import type { AgentFigures, ClientFigures, UnheldRate } from '../client-figures.ts';
import type { FrontResult } from '../fronts/measure-front.ts';
import type { LevelOptions } from '../level-options.ts';
import { gapShiftNs, type TailEvidence, tailEvidence } from '../windows/void-windows.ts';
import { type ClientEvidence, type ClientLimit, clientLimit, needsCeiling } from './client-verdict.ts';
import { isDropping, unheldRate } from './unheld-rate.ts';

/**
 * Returns the figures of one agent: its clock, its resource use, the outcome of its sends, and
 * whether it was the limit.
 */
function agentFigures(
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

/**
 * Returns the client's own figures while all fronts counted, whether the client was the limit of
 * one of them, and who kept a rate from being held.
 */
export async function clientFigures(use: ClientUse, fronts: readonly FrontResult[]): Promise<ClientFigures> {
  const requests = fronts.reduce((sum, { sent }) => sum + sent, 0);
  const tails = fronts.map(({ figures, options }) => tailEvidence(figures, options));
  const seen = tails.filter((tail) => tail !== null);
  const gapShifts = fronts.flatMap(({ figures, options }) => gapShiftNs(figures.batches, options) ?? []);
  const limits: ClientLimit[] = [];
  for (const [index, front] of fronts.entries()) {
    const tail = tails[index] ?? null;
    const ofAgents = (use.agents ?? []).flatMap((agent) => {
      const limit = limitOfAgent(agent, front, tail);
      return limit ? [{ ...limit, reason: `agent ${agent.address}: ${limit.reason}` }] : [];
    });
    const limit = ofAgents[0] ?? (await readLimit(use, front, tail));
    if (limit) limits.push(fronts.length === 1 ? limit : { ...limit, reason: `${findModel(front)}: ${limit.reason}` });
  }
  const [first] = limits;
  const unheld = await firstUnheld(use, fronts, tails);
  return {
    cpuUsPerRequest: use.cpuUs / Math.max(requests, 1),
    eventLoopDelayMs: use.longestDelayMs,
    ...(use.besideShare !== undefined && { besideCpuShare: use.besideShare }),
    ...(seen.length > 0 && {
      gcMs: nsToMs(seen.flatMap(({ heldUp }) => heldUp.pauses).reduce((total, { gcNs }) => total + gcNs, 0)),
      tailShiftMs: nsToMs(Math.max(...seen.map(({ shiftNs }) => shiftNs))),
    }),
    ...(gapShifts.length > 0 && { itlShiftMs: nsToMs(Math.max(...gapShifts)) }),
    bound: limits.length > 0,
    ...(first && { reason: first.reason }),
    // A limit that is permanent for one front is permanent for all.
    ...(first && limits.every(({ isStarved }) => isStarved) && { starved: true }),
    ...(unheld && { unheldRate: unheld }),
    ...(use.agents && {
      agents: use.agents.map((agent) => {
        const clientLimits = fronts.map((front, index) => limitOfAgent(agent, front, tails[index] ?? null));
        const sends = fronts.flatMap(({ tally }) => tally?.byAgent?.get(agent.address) ?? []);
        return agentFigures(agent, sends, clientLimits.find((limit) => limit !== null) ?? null);
      }),
    }),
  };
}

/**
 * Judges the agent by its own CPU and sends. Evidence of delays is only known for the threads of
 * all agents together.
 */
function limitOfAgent({ address, use }: AgentUse, front: FrontResult, tail: TailEvidence | null): ClientLimit | null {
  const clientUse: ClientUse = tail === null ? use : { ...use, medianDelayMs: 0 };
  const evidence = toEvidence(clientUse, front, null);
  const tally = front.tally?.byAgent?.get(address);
  const sends = evidence.sends && { ...evidence.sends, ...findLateness(tally), fromDueMs: evidence.sends.fromSendMs };
  return clientLimit({ ...evidence, sends }, null);
}

const findLateness = (tally: SendTally | undefined) =>
  tally && { latenessP50Ms: nsToMs(tally.lateness.quantileNs(0.5)) };

const findModel = ({ options }: FrontResult): string => options.requests.model;

async function readLimit(use: ClientUse, front: FrontResult, tail: TailEvidence | null): Promise<ClientLimit | null> {
  const evidence = toEvidence(use, front, tail);
  const ceiling = needsCeiling(evidence) ? await front.options.clientCeiling?.() : null;
  return clientLimit(evidence, ceiling ?? null);
}

/** Returns who kept the rate of a front from being held; the first front's. */
async function firstUnheld(
  { host = {} }: ClientUse,
  fronts: readonly FrontResult[],
  tails: readonly (TailEvidence | null)[],
): Promise<UnheldRate | null> {
  for (const [index, { tally, figures, options }] of fronts.entries()) {
    if (tally === null) continue;
    const evidence = {
      sent: tally.sent,
      late: tally.late,
      dropped: tally.dropped,
      host,
      requestRate: figures.rate.value,
      maxInFlight: options.openLoop?.maxInFlight ?? defaultOpenLoopRule.maxInFlight,
      heldUp: tails[index]?.heldUp ?? null,
    };
    const ceiling = isDropping(evidence) ? await options.clientCeiling?.() : null;
    const unheld = unheldRate(evidence, ceiling ?? null);
    if (unheld)
      return fronts.length === 1 ? unheld : { ...unheld, reason: `${options.requests.model}: ${unheld.reason}` };
  }
  return null;
}

function toEvidence(
  use: ClientUse,
  { figures, frontFigures: { openLoop: paced }, options }: FrontResult,
  tail: TailEvidence | null,
): ClientEvidence {
  return {
    use,
    tail: tail && { ...tail, percentile: options.percentile, budgetMs: judgedBudgetMs(options) },
    requestRate: figures.rate.value,
    latencyP50Ms: nsToMs(figures.latencies.quantileNs(0.5)),
    sends: paced
      ? {
          latenessP50Ms: paced.sendLatenessP50Us / 1e3,
          percentile: options.percentile,
          fromDueMs: figures.percentileMs.value,
          fromSendMs: nsToMs(figures.latencies.quantileNs(options.percentile / 100)),
          budgetMs: options.budgetMs ?? Number.POSITIVE_INFINITY,
        }
      : null,
  };
}

/** The other rules report a level as perf_analyzer does, whatever delayed the client. */
const judgedBudgetMs = ({ stability, budgetMs }: LevelOptions): number | null =>
  stability === undefined || stability.kind === 'interval' ? (budgetMs ?? null) : null;
