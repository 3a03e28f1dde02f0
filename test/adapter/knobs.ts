import { VirtualClock } from '#base/clock.ts';
import { listDifferences } from '#space/differences.ts';
import { plainCandidate } from '#space/plain-candidate.ts';
import type { Candidate, CandidateOutcome } from '#space/types.ts';
import type { SpaceView } from '#study/search/samplers/space-view.ts';
import type { ServerAdapter } from '#tuner/adapter.ts';
import { CandidateRefusedError } from '#tuner/refused.ts';
import { measured } from '../study/builders.ts';

const threads = [1, 2, 4, 8];
const caches = ['small', 'large'];

const original = plainCandidate({ threads: 1, cache: 'small' });

/** Two settings of a server that is no Triton; eight threads need the large cache. */
export const knobSpace: SpaceView = {
  *assignments() {
    for (const cache of caches) for (const count of threads) yield { cache, threads: count };
  },
  sample: (random) => ({ cache: caches[random.int(0, 1)] as string, threads: threads[random.int(0, 3)] as number }),
  complete: (wanted, random) => ({ ...knobSpace.sample(random), ...wanted }),
  build(assignment): CandidateOutcome {
    const value = { ...original.value, ...assignment };
    if (value.threads === 8 && value.cache === 'small') return { legal: false, reason: 'too many threads' };
    return { legal: true, candidate: plainCandidate(value, assignment) };
  },
};

/**
 * A server in memory and virtual time: a thread serves 100 requests a second, 1.5 times as many
 * with the large cache.
 */
export class KnobServer {
  readonly clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'));
  #served: Candidate = original;

  readonly adapter: ServerAdapter = {
    name: 'knobs',
    identity: {
      name: 'knobs',
      version: '1',
      url: 'here',
      protocol: 'memory',
      emulated: null,
      controlUrl: 'here',
      controlProtocol: 'memory',
    },
    original,
    build: (assignment) =>
      Object.keys(assignment).length === 0 ? { legal: true, candidate: original } : knobSpace.build(assignment),
    diff: listDifferences,
    documents: ({ value }) => [{ path: 'knobs.json', text: `${JSON.stringify(value)}\n` }],
    apply: async (candidate, signal) => {
      signal.throwIfAborted();
      if (candidate.fingerprint === this.#served.fingerprint) return { candidate, change: 'none', loadMs: 0 };
      if (candidate.value.threads === 4 && candidate.value.cache === 'small')
        throw new CandidateRefusedError('init-failed', 'no more threads');
      await this.clock.sleep(500, signal);
      this.#served = candidate;
      return { candidate, change: 'full', loadMs: 500 };
    },
    changed: async () => null,
    isReachable: async () => true,
    restore: async () => {
      const isOriginal = this.#served === original;
      this.#served = original;
      return { how: isOriginal ? 'nothing-changed' : 'config', verified: true, detail: 'as it was' };
    },
    measure: async (_, level, { signal }) => {
      await this.clock.sleep(2_000, signal);
      const { threads: count, cache } = this.#served.value as { threads: number; cache: string };
      const throughput = Math.min(100 * count * (cache === 'large' ? 1.5 : 1), 100 * level.value);
      return measured(level.value, throughput, (1000 * level.value) / throughput);
    },
  };
}
