import { nsToMs } from '#base/units.ts';
import type { RequestLimits } from '#queueing/continuous/request-limits.ts';
import { executionNs, type ServiceLaw } from '#queueing/service-law.ts';
import type { ModelFigures, SimulatedClients } from '#queueing/tally.ts';
import { hasLimits, type StudyWorkloads } from '#workload/study-workloads.ts';
import { type TokenFigureName, tokenFigureNames } from './continuous/token-figures.ts';
import { chanceWithin, leastGoodput } from './goodput.ts';
import type { Choice } from './modelled-config.ts';

/** Simulated figures, by the names of the study's metrics: infer/s and milliseconds. */
export interface Simulated extends SimulatedFigures {
  /** The same of each front by its model, if several models get requests. */
  readonly fronts?: ReadonlyMap<string, SimulatedFigures>;
}

/** Figures of all requests, or of those to one model. */
export interface SimulatedFigures {
  readonly throughput: number;
  /** Requests per second that keep all limits of their class; absent without known limits. */
  readonly goodput?: number;
  readonly latency: number;
  readonly 'latency-avg': number;
  readonly 'latency-p50': number;
  readonly 'latency-p90': number;
  readonly 'latency-p95': number;
  readonly 'latency-p99': number;
  /** Token figures of a language model's engine. `throughput` then counts its requests. */
  readonly tokens?: Readonly<Record<TokenFigureName, number>>;
}

/** A figure of all requests. */
export type PlainFigureName = Exclude<keyof SimulatedFigures, 'tokens'> | TokenFigureName;

/** The name of a figure; with `@MODEL` of the requests to that model alone. */
export type FigureName = PlainFigureName | `${PlainFigureName}@${string}`;

/** Returns the figure and the model of its name; null for a name that no simulated figure has. */
export function figureNamed(name: string): { readonly figure: PlainFigureName; readonly front: string | null } | null {
  const [figure, ...front] = name.split('@') as [string, ...string[]];
  return figureNames.has(figure)
    ? { figure: figure as PlainFigureName, front: front.length > 0 ? front.join('@') : null }
    : null;
}

const figureNames: ReadonlySet<string> = new Set([
  ...tokenFigureNames,
  'throughput',
  'goodput',
  'latency',
  'latency-avg',
  'latency-p50',
  'latency-p90',
  'latency-p95',
  'latency-p99',
] satisfies PlainFigureName[]);

/** True if the figure is about a language model's tokens. */
export const isTokenFigure = (figure: PlainFigureName): figure is TokenFigureName =>
  (tokenFigureNames as readonly string[]).includes(figure);

/**
 * Returns a simulated figure; undefined if the simulation lacks it, and for a model without
 * requests of its own. In a network with one front, all requests are that front's.
 */
export function simulatedFigure(simulated: Simulated, name: string): number | undefined {
  const named = figureNamed(name);
  if (!named) return undefined;
  const figures =
    named.front === null
      ? simulated
      : (simulated.fronts?.get(named.front) ?? (simulated.fronts ? undefined : simulated));
  return isTokenFigure(named.figure) ? figures?.tokens?.[named.figure] : figures?.[named.figure];
}

/**
 * Returns whether a simulation of requests with tensors gives a figure: none of tokens, and goodput
 * only where good requests have limits.
 */
export const givesOfTensors =
  ({ limits, workloads }: { limits?: RequestLimits | undefined; workloads?: StudyWorkloads | undefined }) =>
  (figure: PlainFigureName): boolean =>
    figure === 'goodput'
      ? limits !== undefined || (workloads !== undefined && hasLimits(workloads))
      : !isTokenFigure(figure);

/** The result of one simulation. */
export interface SimulatedRun {
  readonly predicted: Simulated;
  /** The standard deviation of the execution times' logarithm. */
  readonly uncertainty: number;
  readonly largestBatch: number;
}

/** The use of a model of a network. */
export interface StageLoad {
  readonly meanBatch: number;
  readonly busyInstances: number;
}

/** Runs by choice and level, and what a service model reads from one; null if it cannot serve. */
interface Runs<R> {
  at(choice: Choice, level: number): R | null;
  predict(choice: Choice, level: number): Simulated | null;
  /** 0 if the choice cannot serve. */
  uncertainty(choice: Choice, level: number): number;
}

/** Memoizes `run` by choice and level. It returns null if the choice cannot serve. */
export function memoizedRuns<R extends SimulatedRun>(run: (choice: Choice, level: number) => R | null): Runs<R> {
  const known = new Map<string, R | null>();
  const at = (choice: Choice, level: number): R | null => {
    const key = `${choice.key} ${level}`;
    const earlier = known.get(key);
    if (earlier !== undefined) return earlier;
    const result = run(choice, level);
    known.set(key, result);
    return result;
  };
  return {
    at,
    predict: (choice, level) => at(choice, level)?.predicted ?? null,
    uncertainty: (choice, level) => at(choice, level)?.uncertainty ?? 0,
  };
}

/** The context of a simulation's figures. */
export interface FigureOptions {
  readonly percentile: number;
  readonly limits?: RequestLimits | undefined;
}

/**
 * Returns the figures of a simulation in the units of metrics. `limits`: the limits of good
 * requests.
 */
export function summarizeFigures(
  { latencyNs, latenciesNs, requestsPerSecond }: SimulatedClients,
  samplesPerRequest: number,
  { percentile, limits }: FigureOptions,
): SimulatedFigures {
  const rank = Math.max(0, Math.ceil((percentile / 100) * latenciesNs.length) - 1);
  return {
    throughput: requestsPerSecond * samplesPerRequest,
    ...(limits && { goodput: computeGoodRate(latenciesNs, requestsPerSecond, limits) }),
    latency: nsToMs(latenciesNs[rank] as number),
    'latency-avg': nsToMs(latencyNs.mean),
    'latency-p50': nsToMs(latencyNs.p50),
    'latency-p90': nsToMs(latencyNs.p90),
    'latency-p95': nsToMs(latencyNs.p95),
    'latency-p99': nsToMs(latencyNs.p99),
  };
}

/** Requests of tensors have only one time, that to their end. */
function computeGoodRate(latenciesNs: Float64Array, requestsPerSecond: number, { e2eNs }: RequestLimits): number {
  if (e2eNs === undefined) return requestsPerSecond;
  const good = latenciesNs.reduce((sum, ns) => sum + chanceWithin(ns / e2eNs), 0) / Math.max(1, latenciesNs.length);
  return Math.max(leastGoodput(requestsPerSecond), requestsPerSecond * good);
}

/**
 * Returns the mean uncertainty over batch sizes, weighted by the time that their executions take.
 */
export function meanUncertainty(
  { executions }: Pick<ModelFigures, 'executions'>,
  law: ServiceLaw,
  computeUncertainty: (batch: number) => number,
): number {
  let [sum, total] = [0, 0];
  for (const [batch, count] of executions.entries()) {
    if (count === 0) continue;
    const timeNs = count * executionNs(law, batch, 1);
    sum += timeNs * computeUncertainty(batch);
    total += timeNs;
  }
  return total > 0 ? sum / total : 0;
}
