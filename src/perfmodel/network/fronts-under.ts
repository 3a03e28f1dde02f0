import type { Front } from '../../queueing/network/types.ts';
import { frontLevels, type Topology } from '../../space/topology.ts';
import type { StudyWorkloads } from '../../workload/study-workloads.ts';
import { loadsAt, type OfferedLoad, trafficUnder } from '../workloads/offered-load.ts';
import { frontsAt } from './network-of.ts';

/** The fronts under one workload, with what arrives at each; null at a front whose rate is fixed, whatever the workload is. */
export interface FrontsUnder {
  readonly fronts: readonly Front[];
  readonly loads: readonly (OfferedLoad | null)[];
}

/**
 * Returns the fronts under each workload at a level of the study. Each front with a share gets the workload at its part of the level; of long passes
 * there are excerpts of about `requests` requests for all fronts together.
 */
export function frontsUnder(
  workloads: StudyWorkloads,
  topology: Topology,
  perSecond: number,
  samplesOf: (front: string) => number,
  { roundTripNs, requests }: { readonly roundTripNs: ReadonlyMap<string, number>; readonly requests: number },
): FrontsUnder[] {
  const level = { mode: 'request-rate', value: perSecond } as const;
  const own = frontLevels(topology, level).map(({ value }, index) =>
    topology.fronts[index]?.requestsPerSecond === undefined
      ? loadsAt(workloads, value, (requests * value) / perSecond)
      : null,
  );
  const plain = frontsAt(topology, level, samplesOf, roundTripNs);
  return workloads.workloads.map((_, index) => {
    const loads = own.map((each) => each?.[index] ?? null);
    return {
      loads,
      fronts: plain.map((front, place) => {
        const load = loads[place];
        const kind = { roundTripNs: roundTripNs.get(front.name) ?? 0, samplesPerRequest: samplesOf(front.name) };
        return load ? { ...front, traffic: trafficUnder(load, kind) } : front;
      }),
    };
  });
}
