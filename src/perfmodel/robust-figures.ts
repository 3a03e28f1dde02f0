import { NS_PER_S } from '#base/units.ts';
import type { SimulatedClients } from '#queueing/tally.ts';
import { type RobustRule, robustFigure } from '#workload/robust-rule.ts';
import type { StudyWorkload, StudyWorkloads } from '#workload/study-workloads.ts';
import { isTokenRate, type TokenFigureName, tokenFigureNames } from './continuous/token-figures.ts';
import { leastGoodput } from './goodput.ts';
import type { OfferedLoad } from './offered-load.ts';
import {
  type FigureOptions,
  type Simulated,
  type SimulatedFigures,
  type SimulatedRun,
  summarizeFigures,
} from './simulated.ts';

/**
 * Returns the figures of a pass of the load. A pass lasts as long as its plan, or longer if
 * requests are still answered after its end: rates are over that time.
 */
export function figuresUnder(
  { workload: { limitsNs }, plan: { durationNs } }: OfferedLoad,
  clients: SimulatedClients,
  samplesPerRequest: number,
  options: FigureOptions,
): SimulatedFigures {
  const figures = summarizeFigures(clients, samplesPerRequest, options);
  const spanS = Math.max(durationNs / NS_PER_S, clients.requests / clients.requestsPerSecond);
  return {
    ...figures,
    throughput: (clients.requests * samplesPerRequest) / spanS,
    ...(figures.goodput !== undefined && {
      goodput: (figures.goodput * clients.requests) / clients.requestsPerSecond / spanS,
    }),
    ...(limitsNs && { goodput: Math.max(leastGoodput(clients.requests / spanS), clients.goodRequests / spanS) }),
  };
}

/**
 * Returns one run for all workloads: figures by the rule; batches and uncertainty averaged with the
 * workloads' weights.
 */
export function robustRun(studied: StudyWorkloads, runs: readonly SimulatedRun[]): SimulatedRun {
  const { rule, workloads } = studied;
  const parts = runs.map((run, index) => ({ ...(workloads[index] as StudyWorkload), figures: run.predicted }));
  return {
    predicted: robustFigures(rule, parts),
    largestBatch: Math.max(...runs.map(({ largestBatch }) => largestBatch)),
    uncertainty: meanOver(studied, runs, ({ uncertainty }) => uncertainty),
  };
}

/** Returns the mean of a figure of one run per workload, by the workloads' weights. */
export const meanOver = <R>({ workloads }: StudyWorkloads, runs: readonly R[], of: (run: R) => number): number =>
  robustFigure(
    { kind: 'mean' },
    'lower',
    runs.map((run, index) => ({ value: of(run), weight: (workloads[index] as StudyWorkload).weight })),
  );

/** Figures under one workload. */
interface FiguresUnder {
  readonly weight: number;
  /** Its requests per second over the level of the study. */
  readonly perLevel: number;
  readonly figures: Simulated;
}

/**
 * Returns one figure of each name for all workloads. Rates are relative to each workload's
 * requested rate, like those of measurements.
 */
function robustFigures(rule: RobustRule, parts: readonly FiguresUnder[]): Simulated {
  const fronts = parts[0]?.figures.fronts;
  return {
    ...combineRobust(rule, parts),
    ...(fronts && {
      fronts: new Map(
        [...fronts.keys()].map((front) => [
          front,
          combineRobust(
            rule,
            parts.map((part) => ({ ...part, figures: part.figures.fronts?.get(front) as SimulatedFigures })),
          ),
        ]),
      ),
    }),
  };
}

function combineRobust(rule: RobustRule, parts: readonly FiguresUnder[]): SimulatedFigures {
  const time = (of: (figures: SimulatedFigures) => number): number =>
    robustFigure(
      rule,
      'lower',
      parts.map(({ figures, weight }) => ({ value: of(figures), weight })),
    );
  const rate = (of: (figures: SimulatedFigures) => number): number =>
    robustFigure(
      rule,
      'higher',
      parts.map(({ figures, weight, perLevel }) => ({ value: of(figures) / perLevel, weight })),
    );
  const hasGoodput = parts.every(({ figures }) => figures.goodput !== undefined);
  const hasTokens = parts.every(({ figures }) => figures.tokens !== undefined);
  return {
    throughput: rate(({ throughput }) => throughput),
    ...(hasGoodput && { goodput: rate(({ goodput = 0 }) => goodput) }),
    latency: time(({ latency }) => latency),
    'latency-avg': time((figures) => figures['latency-avg']),
    'latency-p50': time((figures) => figures['latency-p50']),
    'latency-p90': time((figures) => figures['latency-p90']),
    'latency-p95': time((figures) => figures['latency-p95']),
    'latency-p99': time((figures) => figures['latency-p99']),
    ...(hasTokens && { tokens: robustTokens(rule, parts) }),
  };
}

/** Total rates are relative to a workload's requested rate; the rate of one user is not. */
function robustTokens(rule: RobustRule, parts: readonly FiguresUnder[]): NonNullable<SimulatedFigures['tokens']> {
  const figure = (name: TokenFigureName): number =>
    robustFigure(
      rule,
      isTokenRate(name) ? 'higher' : 'lower',
      parts.map(({ figures: { tokens }, weight, perLevel }) => ({
        value: (tokens?.[name] ?? Number.NaN) / (name.endsWith('token-throughput') ? perLevel : 1),
        weight,
      })),
    );
  return Object.fromEntries(tokenFigureNames.map((name) => [name, figure(name)])) as Record<TokenFigureName, number>;
}
