import type { Sampler } from '../types.ts';
import { type SpaceView, untried } from './space-view.ts';

/** Every candidate once, in the space's order. Stops when none is left. */
export function gridSampler(space: SpaceView): Sampler {
  return {
    ask(history) {
      for (const assignment of space.assignments()) {
        if (untried(space, assignment, history)) return { kind: 'trial', assignment, levels: { kind: 'search' } };
      }
      return { kind: 'stop', reason: 'every candidate of the search space was tried' };
    },
  };
}
