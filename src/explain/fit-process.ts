import { NS_PER_S, nsToMs } from '#base/units.ts';
import type { Choice } from '#perfmodel/modelled-config.ts';
import type { ServerBreakdown } from '#profiler/server-figures.ts';
import type { Interval } from '#stats/interval.ts';
import { type ArrivalProcess, toProcess, toRecorded } from './arrivals.ts';
import { meanBatch } from './execution-law.ts';
import { type ForecastContext, simulateAt } from './forecast.ts';

/** How requests arrive, and whether that explains the time that they spend in the queue. */
export interface FittedProcess {
  readonly process: ArrivalProcess;
  readonly explainsQueue: boolean;
}

/** Gaps within a burst to try, as shares of the mean gap between requests. */
const GAP_SHARES = [0, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 1.5, 4, 10] as const;
/** Sizes of groups at even times to try. */
const GROUP_SIZES = [2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128] as const;
/** A simulated queue within this factor of the observed one explains it, … */
const ALIKE = 1.5;
/** … and so does one within this share of the request's time. */
const SMALL_SHARE = 0.1;
/** Shorter queues are alike. */
const MIN_QUEUE_MS = 1e-3;

/**
 * Fits the arrivals to the counts per interval, and their gaps within bursts to the mean time in
 * the queue. Arrivals that are more even than those of independent clients may be those of a closed
 * loop, which waits for answers, or groups at even times: where an even stream does not explain the
 * queue, independent clients and such groups are tried. Recorded arrivals are taken as they are.
 */
export function fitProcess(
  dispersion: Interval | null,
  { breakdown, arrivalsNs }: { readonly breakdown: ServerBreakdown; readonly arrivalsNs?: Float64Array | undefined },
  context: Omit<ForecastContext, 'process'>,
  choice: Choice,
): FittedProcess {
  const observedMs = breakdown.queueUs / 1e3;
  const requestMs = breakdown.requestUs / 1e3;
  const simulated = (process: ArrivalProcess): { readonly queueMs: number; readonly miss: number } => {
    const simulation = simulateAt({ ...context, process }, choice, context.perSecond);
    const queueMs = nsToMs(simulation.queueNs);
    const queueMiss = Math.log((queueMs + MIN_QUEUE_MS) / (observedMs + MIN_QUEUE_MS));
    return { queueMs, miss: Math.abs(queueMiss) + Math.abs(Math.log(simulation.meanBatchSize / meanBatch(breakdown))) };
  };
  const isExplained = (simulatedMs: number): boolean =>
    Math.abs(simulatedMs - observedMs) <= SMALL_SHARE * requestMs ||
    (simulatedMs <= ALIKE * observedMs && observedMs <= ALIKE * simulatedMs);
  if (arrivalsNs) {
    const process = toRecorded(arrivalsNs, dispersion);
    return { process, explainsQueue: isExplained(simulated(process).queueMs) };
  }
  const findNearest = (processes: readonly ArrivalProcess[]): FittedProcess => {
    const runs = processes.map((process) => ({ process, ...simulated(process) }));
    const { process, queueMs } = runs.reduce((best, run) => (run.miss < best.miss ? run : best));
    return { process, explainsQueue: isExplained(queueMs) };
  };
  const meanGapNs = NS_PER_S / context.perSecond;
  const first = toProcess(dispersion, 0);
  if (first.kind === 'bursts') return findNearest(GAP_SHARES.map((share) => ({ ...first, gapNs: share * meanGapNs })));
  const independent = { kind: 'poisson' } as const;
  for (const process of first.kind === 'steady' ? [first, independent] : [independent])
    if (isExplained(simulated(process).queueMs)) return { process, explainsQueue: true };
  if (first.kind === 'steady') {
    const groups = findNearest(GROUP_SIZES.map((size) => ({ kind: 'groups', size })));
    if (groups.explainsQueue) return groups;
  }
  return { process: independent, explainsQueue: false };
}
