import type { Assignment } from '#space/types.ts';
import type { Sampler } from '../../types.ts';
import { type SpaceView, untried } from './space-view.ts';

/** Proposes the assignments of a list, in its order, without those that are known to fail. */
export function manualSampler(space: SpaceView, list: readonly Assignment[]): Sampler {
  return {
    ask(history) {
      for (const assignment of list) {
        if (untried(space, assignment, history)) return { kind: 'trial', assignment, levels: { kind: 'search' } };
      }
      return { kind: 'stop', reason: 'every candidate of the list was tried' };
    },
  };
}
