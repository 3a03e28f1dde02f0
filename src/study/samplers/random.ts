import { type Random, seededRandom } from '../../base/random.ts';
import type { Assignment } from '../../space/types.ts';
import type { History, Sampler } from '../types.ts';
import { type SpaceView, untried } from './space-view.ts';

/** Draws before the rest of the space is listed instead: many misses mean that little of it is left. */
const MAX_DRAWS = 200;
/** The longest list that is looked through for what is left. */
const MAX_LISTED = 20_000;

/** Uniform draws without repetition. The draw depends on the seed and the number of trials so far, so that a resumed study goes on alike. */
export function randomSampler(space: SpaceView, seed: number): Sampler {
  return {
    ask(history) {
      const random = seededRandom(mix(seed, history.trials.length));
      const assignment = drawn(space, history, random) ?? listed(space, history, random);
      if (assignment) return { kind: 'trial', assignment, levels: { kind: 'search' } };
      return { kind: 'stop', reason: 'every candidate of the search space was tried' };
    },
  };
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

/** Spreads neighbouring seeds and counts over the generator's 32-bit seeds (the multiplier is Knuth's, TAOCP 6.4). */
function mix(seed: number, count: number): number {
  return (Math.imul(seed | 0, 2654435761) ^ Math.imul(count + 1, 40503)) | 0;
}
