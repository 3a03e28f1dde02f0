import type { Sampler } from '../types.ts';

/** The sampler's candidates, and the original config, each at exactly these levels. */
export const atLevels = (sampler: Sampler, values: readonly number[]): Sampler => ({
  ask(history, remaining) {
    const answer = sampler.ask(history, remaining);
    return answer.kind === 'stop' ? answer : { ...answer, levels: { kind: 'fixed', values } };
  },
  ...(sampler.doubted && { doubted: sampler.doubted }),
  level: (_, { measurements }) => values[measurements.length] ?? null,
});
