import { TrituneError } from '#base/errors.ts';
import { type ClassRequests, classedSet } from '#loadgen/classed-set.ts';
import type { PreparedInputs } from '#loadgen/inputs.ts';
import type { RequestSet } from '#loadgen/types.ts';
import type { RequestLimits } from '#queueing/continuous/request-limits.ts';
import type { ArrivalPlan } from '#workload/arrival-plan.ts';
import { classCounts } from '#workload/plan/part-of-plan.ts';
import { computeMeanRate, createPlan } from '#workload/plan/plan-of.ts';
import { findDuration, type Workload, type WorkloadClass } from '#workload/workload.ts';
import type { OriginalModel } from '../server/open-server.ts';
import { readRequests, type SeededRequests } from './tensor-requests.ts';

/** A workload, and its arrivals at any rate. */
export interface PlayedWorkload {
  readonly workload: Workload;
  /** Requests per second of the workload as written. */
  readonly perSecond: number;
  /** Seconds of one pass. */
  readonly passS: number;
  /** Returns the arrivals of a pass at this mean rate; `seed` draws others than its own. */
  planAt(perSecond: number, seed?: number): ArrivalPlan;
}

/** Requests to one model. */
export interface WorkloadFront {
  readonly model: string;
  readonly classes: readonly WorkloadClass[];
  /** The indexes of its classes in the workload. */
  readonly indexes: readonly number[];
}

/**
 * Prepares to play a workload, `timeScale` times as long as written. The seed makes its arrivals
 * the same every time.
 */
export function played(
  workload: Workload,
  { seed, timeScale = 1 }: { readonly seed: number; readonly timeScale?: number | undefined },
): PlayedWorkload {
  return {
    workload,
    perSecond: computeMeanRate(workload),
    passS: findDuration(workload) * timeScale,
    planAt: rememberingOne((perSecond, planSeed = seed) =>
      createPlan(workload, { seed: planSeed, timeScale, meanPerSecond: perSecond }),
    ),
  };
}

/** Keeps only the latest plan, which may have millions of arrivals. */
function rememberingOne(make: PlayedWorkload['planAt']): PlayedWorkload['planAt'] {
  let last: { readonly perSecond: number; readonly seed: number | undefined; readonly plan: ArrivalPlan } | null = null;
  return (perSecond, seed) => {
    if (last?.perSecond !== perSecond || last.seed !== seed) last = { perSecond, seed, plan: make(perSecond, seed) };
    return last.plan;
  };
}

/**
 * Returns a front for each model that the workload's classes name, in their order. Classes without
 * a model use `model`. Errors: USAGE without it.
 */
export function listFronts(
  { workload }: Pick<PlayedWorkload, 'workload'>,
  model: string | undefined,
): readonly WorkloadFront[] {
  const indexes = workload.classes.map((_, index) => index);
  const byModel = Map.groupBy(indexes, (index) => {
    const ownModel = workload.classes[index]?.model ?? model;
    if (ownModel !== undefined) return ownModel;
    const { name } = workload.classes[index] as WorkloadClass;
    throw new TrituneError('USAGE', `class '${name}' names no model`, 'add -m MODEL, or model: to the class');
  });
  return [...byModel].map(([name, indexes]) => ({
    model: name,
    classes: indexes.map((index) => workload.classes[index] as WorkloadClass),
    indexes,
  }));
}

/**
 * Returns how many requests of each of its classes a front gets per pass of the workload at its own
 * rate.
 */
export function classShares(
  { indexes }: WorkloadFront,
  { planAt, perSecond }: Pick<PlayedWorkload, 'planAt' | 'perSecond'>,
): readonly number[] {
  const counts = classCounts(planAt(perSecond));
  return indexes.map((index) => counts[index] as number);
}

/** Returns the limits of a class, or undefined if it has none and those of the command apply. */
export const findLimits = ({ limits }: Pick<WorkloadClass, 'limits'>): RequestLimits | undefined =>
  Object.keys(limits).length > 0 ? limits : undefined;

/**
 * True if requests are counted by class. With only one class they are not: its figures are those of
 * all requests, and its limits are `findLimits` it.
 */
export const hasClasses = ({ classes }: Pick<Workload, 'classes'>): boolean => classes.length > 1;

/**
 * Returns the inputs of a front's classes for its model, as one set with classes, or without if the
 * workload has only one. Options apply where a class says nothing. The workload's own rate
 * determines the mean samples per request. Errors: as `readRequests`.
 */
export async function prepareClassInputs(
  front: WorkloadFront,
  options: SeededRequests,
  original: Pick<OriginalModel, 'metadata' | 'config'>,
  played: Pick<PlayedWorkload, 'planAt' | 'perSecond' | 'workload'>,
): Promise<PreparedInputs> {
  const inputs: PreparedInputs[] = [];
  for (const { requests } of front.classes) inputs.push(await readRequests({ ...options, ...requests }, original));
  const [only] = inputs;
  if (only && !hasClasses(played.workload)) return only;
  const shares = classShares(front, played);
  const known: { readonly sets: readonly RequestSet[]; readonly joint: RequestSet }[] = [];
  const joinSets = (sets: readonly RequestSet[]): RequestSet => {
    const before = known.find((each) => each.sets.every((set, index) => set === sets[index]));
    if (before) return before.joint;
    const joint = classedSet(
      sets.map((set, index): ClassRequests => {
        const each = front.classes[index] as WorkloadClass;
        return { name: each.name, limits: findLimits(each), set, share: shares[index] as number };
      }) as [ClassRequests, ...ClassRequests[]],
    );
    known.push({ sets, joint });
    return joint;
  };
  const forConfig: PreparedInputs['forConfig'] = (config, batch) =>
    joinSets(inputs.map((each, index) => each.forConfig(config, front.classes[index]?.requests?.batch ?? batch)));
  return {
    ...forConfig(original.config),
    assumed: inputs.flatMap(({ assumed }) => assumed),
    unsized: inputs.flatMap(({ unsized }) => unsized),
    mostBatch: Math.max(...inputs.map(({ mostBatch }) => mostBatch)),
    values: inputs.flatMap(({ values }) => values),
    forConfig,
  };
}
