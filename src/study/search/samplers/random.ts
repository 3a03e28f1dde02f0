import { type Random, seededRandom } from '#base/random.ts';
import type { Assignment } from '#space/types.ts';
import type { History, Sampler } from '../../types.ts';
import { seedAt } from './seeds.ts';
import { type SpaceView, untried } from './space-view.ts';

/** Draws before the rest of the space is listed instead: many misses mean that little is left. */
const MAX_DRAWS = 200;
/** Assignments that are listed, at most, to find the untried ones. */
const MAX_LISTED = 20_000;

/**
 * Draws uniformly without repetition. Each draw depends on the seed and the number of trials so
 * far, so a resumed study continues alike.
 */
export function randomSampler(space: SpaceView, seed: number): Sampler {
  return {
    ask(history) {
      const random = seededRandom(seedAt(seed, history.trials.length));
      const assignment = anyUntried(space, history, random);
      if (assignment) return { kind: 'trial', assignment, levels: { kind: 'search' } };
      return { kind: 'stop', reason: 'every candidate of the search space was tried' };
    },
  };
}

/** Returns an untried assignment, each with the same probability; null when there is none. */
export function anyUntried(space: SpaceView, history: History, random: Random): Assignment | null {
  return drawn(space, history, random) ?? listed(space, history, random);
}

function drawn(space: SpaceView, history: History, random: Random): Assignment | null {
  for (let draw = 0; draw < MAX_DRAWS; draw++) {
    const assignment = space.sample(random);
    if (untried(space, assignment, history)) return assignment;
  }
  return null;
}

function listed(space: SpaceView, history: History, random: Random): Assignment | null {
  const left: Assignment[] = [];
  let seen = 0;
  for (const assignment of space.assignments()) {
    if (++seen > MAX_LISTED) break;
    if (untried(space, assignment, history)) left.push(assignment);
  }
  return left.length > 0 ? (left[random.int(0, left.length - 1)] as Assignment) : null;
}
