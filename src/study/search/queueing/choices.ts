import { seededRandom } from '#base/random.ts';
import { type Choice, toChoice } from '#perfmodel/modelled-config.ts';
import type { Assignment } from '#space/types.ts';
import type { SpaceView } from '../samplers/space-view.ts';

/**
 * Choices of a space, at most. A larger space is sampled, so that a proposal takes seconds at most.
 */
const MAX_CHOICES = 4000;
/** The same for a joint space, where the search also looks around the best candidates. */
const MAX_JOINT_CHOICES = 1500;

/**
 * Returns the legal candidates of the space, each once: all of them, or a seeded sample of a space
 * with more than 4,000 assignments; of a joint space with more than 1,500.
 */
export function listChoices(space: SpaceView, seed: number): readonly Choice[] {
  const choices = new Map<string, Choice>();
  for (const assignment of listWhole(space) ?? drawChoices(space, seed)) {
    const outcome = space.build(assignment);
    if (outcome.legal && !choices.has(outcome.candidate.fingerprint))
      choices.set(outcome.candidate.fingerprint, toChoice(outcome.candidate));
  }
  return [...choices.values()];
}

/** True if the space has more assignments than are listed, and so is sampled. */
export const isSampled = (space: SpaceView): boolean => listWhole(space) === null;

/** Returns every assignment of the space; null for a space with more than are listed. */
function listWhole(space: SpaceView): readonly Assignment[] | null {
  const listed: Assignment[] = [];
  for (const assignment of space.assignments()) {
    if (listed.length === (space.neighbours ? MAX_JOINT_CHOICES : MAX_CHOICES)) return null;
    listed.push(assignment);
  }
  return listed;
}

/**
 * Draws this many assignments and drops duplicates, because building a candidate takes far longer
 * than drawing its assignment.
 */
function drawChoices(space: SpaceView, seed: number): Iterable<Assignment> {
  const random = seededRandom(seed);
  const drawn = Array.from({ length: space.neighbours ? MAX_JOINT_CHOICES : MAX_CHOICES }, () => space.sample(random));
  return new Map(drawn.map((assignment) => [JSON.stringify(assignment), assignment])).values();
}
