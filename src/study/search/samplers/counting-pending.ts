import type { History, PendingTrial, Sampler, Trial } from '../../types.ts';

/**
 * Returns the sampler with pending trials presented as failed ones. A model of good and bad trials
 * counts them among the bad ones: the constant liar with the worst value (Ginsbourger, Le Riche and
 * Carraro, 2010), which keeps proposals apart.
 */
export const countingPending = (sampler: Sampler): Sampler => ({
  ask: (history, remaining) => sampler.ask(asTried(history), remaining),
  ...(sampler.level && { level: (history, running) => sampler.level?.(history, running) ?? null }),
  ...(sampler.doubted && { doubted: (history) => sampler.doubted?.(history) ?? [] }),
  ...(sampler.comesBack && { comesBack: true }),
});

/** Returns the history itself if nothing is pending, because samplers memoize by its identity. */
function asTried(history: History): History {
  const { trials, pending = [] } = history;
  if (pending.length === 0) return history;
  return { trials: [...trials, ...pending.map(withoutOutcome)].sort((a, b) => a.number - b.number) };
}

const withoutOutcome = ({ number, candidate }: PendingTrial): Trial => ({
  number,
  role: 'search',
  candidate,
  measurements: [],
  chosen: null,
  feasible: false,
  failure: null,
});
