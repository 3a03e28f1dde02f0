import type { Candidate, CandidateShape } from '#space/types.ts';
import { splitAddresses } from '#triton/wire/address-list.ts';
import type { TunedSpace } from './tuned-space.ts';

/**
 * Returns the space of a model that several servers (`A,B`) serve as one: the performance model
 * takes their instances together. The same space for one address. `isRecorded`: the space's
 * original comes from a journal, and is such a candidate already.
 */
export function spaceOnServers(space: TunedSpace, urls: string, isRecorded: boolean): TunedSpace {
  const addresses = splitAddresses(urls);
  if (addresses.length === 1) return space;
  const hosts = new Set(addresses.map((address) => address.slice(0, address.lastIndexOf(':')))).size;
  const onAll = onServers(addresses.length, hosts);
  return {
    ...space,
    original: isRecorded ? space.original : onAll(space.original),
    places: space.places * addresses.length,
    view: (narrowing) => {
      const view = space.view(narrowing);
      return {
        ...view,
        build: (assignment) => {
          const outcome = view.build(assignment);
          return outcome.legal ? { legal: true, candidate: onAll(outcome.candidate) } : outcome;
        },
      };
    },
  };
}

/** Servers of one host share its GPUs. */
function onServers(servers: number, hosts: number): (candidate: Candidate) => Candidate {
  const known = new WeakMap<Candidate, Candidate>();
  const shapeOnAll = (shape: CandidateShape): CandidateShape => {
    const { instances, devices = 1, ...rest } = shape.policy;
    const spread = devices * hosts;
    return {
      ...shape,
      policy: { ...rest, instances: instances * servers, ...(spread > 1 && { devices: spread }) },
      ...(shape.members && {
        members: Object.fromEntries(Object.entries(shape.members).map(([model, each]) => [model, shapeOnAll(each)])),
      }),
    };
  };
  return (candidate) => {
    const onAll = known.get(candidate) ?? { ...candidate, shape: shapeOnAll(candidate.shape) };
    known.set(candidate, onAll);
    return onAll;
  };
}
