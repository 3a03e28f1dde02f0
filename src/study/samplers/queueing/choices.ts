import { seededRandom } from '../../../base/random.ts';
import { type Choice, choiceOf } from '../../../perfmodel/modelled-config.ts';
import type { Assignment } from '../../../space/types.ts';
import type { SpaceView } from '../space-view.ts';

/** A larger space is sampled, so that a proposal takes seconds at most. */
const MOST_CHOICES = 4000;

/** The candidates of the space, each once: all of them, or a seeded sample of a large space. */
export function choicesOf(space: SpaceView, seed: number): readonly Choice[] {
  const found = new Map<string, Choice>();
  for (const assignment of wholeOf(space) ?? sampleOf(space, seed)) {
    const outcome = space.build(assignment);
    if (outcome.legal && !found.has(outcome.candidate.fingerprint))
      found.set(outcome.candidate.fingerprint, choiceOf(outcome.candidate));
  }
  return [...found.values()];
}

/** null for a large space. */
function wholeOf(space: SpaceView): readonly Assignment[] | null {
  const listed: Assignment[] = [];
  for (const assignment of space.assignments()) {
    if (listed.length === MOST_CHOICES) return null;
    listed.push(assignment);
  }
  return listed;
}

/** Those that are drawn again come once: to build a candidate takes far longer than to draw its assignment. */
function sampleOf(space: SpaceView, seed: number): Iterable<Assignment> {
  const random = seededRandom(seed);
  const drawn = Array.from({ length: MOST_CHOICES }, () => space.sample(random));
  return new Map(drawn.map((assignment) => [JSON.stringify(assignment), assignment])).values();
}
