import { nsToMs } from '../../base/units.ts';
import type { ClientUse } from '../../loadgen/client/cost.ts';
import type { FrontResult } from '../fronts/measure-front.ts';
import type { LevelOptions } from '../level-options.ts';
import type { ClientFigures } from '../measurement.ts';
import { gapShiftNs, type TailEvidence, tailEvidence } from '../windows/void-windows.ts';
import { type ClientEvidence, type ClientLimit, clientLimit, needsCeiling } from './client-verdict.ts';

/** Requests that were answered while the client was watched, in one front. */
const answered = ({ figures }: FrontResult): number => figures.succeeded + figures.failed;

/**
 * Returns the client's own figures over what all fronts counted, and whether it was the limit of one of them. A front that had counted enough
 * before the others went on sending: its requests count for as long.
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
    const limit = await limitOf(use, front, tails[index] ?? null);
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
    // What does not pass for one front does not pass.
    ...(first && limits.every(({ isStarved }) => isStarved) && { starved: true }),
  };
}

const modelOf = ({ options }: FrontResult): string => options.requests.model;

async function limitOf(
  use: ClientUse,
  { figures, own: { openLoop: paced }, options }: FrontResult,
  tail: TailEvidence | null,
): Promise<ClientLimit | null> {
  const evidence: ClientEvidence = {
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
  const ceiling = needsCeiling(evidence) ? await options.clientCeiling?.() : null;
  return clientLimit(evidence, ceiling ?? null);
}

/** By the other rules a level is reported as perf_analyzer reports it, whatever held the client up. */
const judgedBudgetMs = ({ stability, budgetMs }: LevelOptions): number | null =>
  stability === undefined || stability.kind === 'interval' ? (budgetMs ?? null) : null;
