import type { Sampler } from '../../types.ts';

/** Restricts a sampler to fixed load levels, for its candidates and for the baseline. */
export const atLevels = (sampler: Sampler, values: readonly number[]): Sampler => ({
  ask(history, remaining) {
    const answer = sampler.ask(history, remaining);
    return answer.kind === 'stop' ? answer : { ...answer, levels: { kind: 'fixed', values } };
  },
  ...(sampler.doubted && { doubted: sampler.doubted }),
  level: (_, { measurements }) => values[measurements.length] ?? null,
});
