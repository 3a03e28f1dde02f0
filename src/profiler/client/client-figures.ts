import { nsToMs } from '../../base/units.ts';
import type { AgentUse, ClientUse } from '../../loadgen/client/cost.ts';
import type { SendTally } from '../../loadgen/pacing/open-loop.ts';
import type { FrontResult } from '../fronts/measure-front.ts';
import type { LevelOptions } from '../level-options.ts';
import type { ClientFigures } from '../measurement.ts';
import { gapShiftNs, type TailEvidence, tailEvidence } from '../windows/void-windows.ts';
import { agentFigures } from './agent-figures.ts';
import { type ClientEvidence, type ClientLimit, clientLimit, needsCeiling } from './client-verdict.ts';

/** Requests of one front that were answered while the client was watched. */
const answered = ({ figures }: FrontResult): number => figures.succeeded + figures.failed;

/**
 * Returns the client's own figures over everything that all fronts counted, and whether the client was the limit of one of them. A front that
 * finished counting before the others continued to send, so its requests are scaled to the full time.
 */
export async function clientFigures(use: ClientUse, fronts: readonly FrontResult[]): Promise<ClientFigures> {
  const longestNs = Math.max(...fronts.map(({ figures }) => figures.durationNs));
  const requests = fronts.reduce((sum, front) => {
    const { durationNs } = front.figures;
    return sum + answered(front) * (durationNs > 0 ? longestNs / durationNs : 1);
  }, 0);
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
    const limit = ofAgents[0] ?? (await limitOf(use, front, tail));
    if (limit) limits.push(fronts.length === 1 ? limit : { ...limit, reason: `${modelOf(front)}: ${limit.reason}` });
  }
  const [first] = limits;
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
    ...(use.agents && {
      agents: use.agents.map((agent) => {
        const found = fronts.map((front, index) => limitOfAgent(agent, front, tails[index] ?? null));
        const sends = fronts.flatMap(({ sendsByAgent }) => sendsByAgent?.get(agent.address) ?? []);
        return agentFigures(agent, sends, found.find((limit) => limit !== null) ?? null);
      }),
    }),
  };
}

/** Judges the agent by its own CPU and sends. Evidence of delays is only known for the threads of all agents together. */
function limitOfAgent({ address, use }: AgentUse, front: FrontResult, tail: TailEvidence | null): ClientLimit | null {
  const own: ClientUse = tail === null ? use : { ...use, medianDelayMs: 0 };
  const evidence = evidenceOf(own, front, null);
  const tally = front.sendsByAgent?.get(address);
  const sends = evidence.sends && { ...evidence.sends, ...latenessOf(tally), fromDueMs: evidence.sends.fromSendMs };
  return clientLimit({ ...evidence, sends }, null);
}

const latenessOf = (tally: SendTally | undefined) => tally && { latenessP50Ms: nsToMs(tally.lateness.quantileNs(0.5)) };

const modelOf = ({ options }: FrontResult): string => options.requests.model;

async function limitOf(use: ClientUse, front: FrontResult, tail: TailEvidence | null): Promise<ClientLimit | null> {
  const evidence = evidenceOf(use, front, tail);
  const ceiling = needsCeiling(evidence) ? await front.options.clientCeiling?.() : null;
  return clientLimit(evidence, ceiling ?? null);
}

function evidenceOf(
  use: ClientUse,
  { figures, own: { openLoop: paced }, options }: FrontResult,
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
