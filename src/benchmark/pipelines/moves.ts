import type { Candidate } from '../../space/types.ts';
import { listNeighbours } from '../../study/search/queueing/joint-candidates.ts';
import type { SpaceView } from '../../study/search/samplers/space-view.ts';

/**
 * Returns the candidates next to one: those that differ in one parameter of one model, and those
 * with an instance of one model replaced by one of another.
 */
export const listMoves = (space: SpaceView, candidate: Candidate): readonly Candidate[] => [
  ...listNeighbours(space, candidate),
  ...listSwaps(space, candidate),
];

/**
 * Returns the candidates with one step more instances of one model and one step fewer of another:
 * the useful move when a limit applies to the total of instances.
 */
export function listSwaps(space: SpaceView, candidate: Candidate): readonly Candidate[] {
  const models = Object.keys(candidate.shape.members ?? {});
  return models.flatMap((model) => {
    const more = step(space, candidate, model, 1);
    if (!more) return [];
    return models.filter((other) => other !== model).flatMap((other) => step(space, more, other, -1) ?? []);
  });
}

const countInstances = ({ shape }: Candidate, model: string): number => shape.members?.[model]?.policy.instances ?? 0;

/** Returns the neighbour with the next number of instances of one model, up or down. */
function step(space: SpaceView, candidate: Candidate, model: string, direction: 1 | -1): Candidate | undefined {
  const now = countInstances(candidate, model);
  return listNeighbours(space, candidate)
    .filter((next) => Math.sign(countInstances(next, model) - now) === direction)
    .sort((a, b) => direction * (countInstances(a, model) - countInstances(b, model)))[0];
}
