import type { Front } from '#queueing/network/types.ts';
import type { Topology } from '#space/topology.ts';
import type { ArrivalPlan } from '#workload/arrival-plan.ts';
import { partOfPlan } from '#workload/plan/part-of-plan.ts';
import type { StudyWorkloads } from '#workload/study-workloads.ts';
import { loadsAt, type OfferedLoad, trafficUnder } from '../offered-load.ts';

/** The fronts under one workload, with the arrivals at each. */
export interface FrontsUnder {
  readonly fronts: readonly Front[];
  readonly loads: readonly OfferedLoad[];
}

/** The lengths of the fronts' simulations. */
interface Lengths {
  /** By front. */
  readonly roundTripNs: ReadonlyMap<string, number>;
  readonly countSamples: (front: string) => number;
  /** The approximate number of requests, over all fronts, in the excerpt of a long pass. */
  readonly requests: number;
}

/**
 * Returns the fronts under each workload at a level of the study. Each gets the classes of its
 * model; the first also gets all classes without a model.
 */
export const frontsUnder = (
  studied: StudyWorkloads,
  { fronts }: Topology,
  level: number,
  { roundTripNs, countSamples, requests }: Lengths,
): FrontsUnder[] =>
  loadsAt(studied, level, requests).map((load) => {
    const loads = fronts.map(({ model }, place) => partFor(load, model, place === 0));
    return {
      loads,
      fronts: fronts.map(({ model, steps }, place): Front => {
        const kind = { roundTripNs: roundTripNs.get(model) ?? 0, samplesPerRequest: countSamples(model) };
        return { name: model, steps, traffic: trafficUnder(loads[place] as OfferedLoad, kind) };
      }),
    };
  });

function partFor({ workload, plan }: OfferedLoad, model: string, isFirst: boolean): OfferedLoad {
  const classIndices = [...plan.classes.keys()].filter((index) => {
    const modelName = workload.models?.get(plan.classes[index] as string);
    return modelName === undefined ? isFirst : modelName === model;
  });
  return { workload, plan: withRequest(partOfPlan(plan, classIndices)) };
}

/**
 * A simulation needs a request for every front: a front without one in the excerpt gets one at its
 * start.
 */
const withRequest = (plan: ArrivalPlan): ArrivalPlan =>
  plan.arrivalsNs.length > 0
    ? plan
    : { ...plan, arrivalsNs: new Float64Array(1), classOf: new Uint16Array(1), classes: ['', ...plan.classes] };
