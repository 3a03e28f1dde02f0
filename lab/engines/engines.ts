import { between, pick, type Random, randomFor } from '../../src/base/random.ts';
import type { SequenceLengths, TokenLengths } from '../../src/queueing/continuous/lengths.ts';
import type { Ask, Engine, EngineAxes, MadeEngineSettings } from './engine.ts';
import { type EngineTimes, toStepTimes } from './engine-times.ts';

const US = 1e3;
const MS = 1e6;

/** Draws the step times of a model on a GPU. */
const gpuTimes = (random: Random, changes: Partial<EngineTimes> = {}): EngineTimes => ({
  overheadNs: between(1, 4, random) * MS,
  weightsNs: between(5, 14, random) * MS,
  tokenNs: between(25, 70, random) * US,
  shortChunk: between(10, 60, random),
  contextNs: between(15, 50, random),
  pairNs: between(1, 4, random),
  sequenceNs: between(5, 25, random) * US,
  mixedNs: between(0.3, 2, random) * MS,
  padding: pick([1, 4, 8], random),
  cv: between(0.02, 0.06, random),
  ...changes,
});

/** Draws the step times of a small model on a few cores. */
const cpuTimes = (random: Random): EngineTimes => ({
  ...gpuTimes(random),
  overheadNs: between(0.5, 2, random) * MS,
  weightsNs: between(20, 45, random) * MS,
  tokenNs: between(3, 7, random) * MS,
  contextNs: between(300, 1500, random),
  pairNs: between(50, 300, random),
  padding: 1,
  cv: between(0.05, 0.1, random),
  threads: { power: between(0.6, 0.9, random), cores: pick([4, 6, 8], random) },
});

const toLengths = (mean: number, spread: number, longest: number): TokenLengths => ({
  mean,
  std: spread * mean,
  min: Math.max(1, Math.round(mean / 8)),
  max: Math.round(longest * mean),
});

function lengths(random: Random, input: number, output: number, cachedShare = 0): SequenceLengths {
  return {
    input: toLengths(Math.round(input * between(0.7, 1.4, random)), between(0.3, 0.8, random), 4),
    output: toLengths(Math.round(output * between(0.7, 1.4, random)), between(0.3, 0.7, random), 3),
    cachedShare,
  };
}

const usualAxes: EngineAxes = {
  max_num_seqs: [4, 8, 16, 24, 32, 48, 64, 96, 128],
  max_num_batched_tokens: [0, 256, 512, 1024, 2048, 4096],
  gpu_memory: [0.9],
  prefix_caching: [false],
  kv_cache_dtype: ['auto'],
  threads: [1],
};
const usualOriginal: MadeEngineSettings = {
  max_num_seqs: 16,
  max_num_batched_tokens: 2048,
  gpu_memory: 0.9,
  prefix_caching: false,
  kv_cache_dtype: 'auto',
  threads: 1,
};

interface Made extends Pick<Engine, 'lengths' | 'kvTokens'> {
  readonly times: EngineTimes;
  readonly ask: Ask;
  readonly axes?: Partial<EngineAxes>;
  readonly original?: Partial<MadeEngineSettings>;
  readonly refuses?: Engine['refuses'];
  readonly high?: number;
}

const kinds: Readonly<Record<string, (random: Random) => Made>> = {
  'chat, most goodput': (random) => ({
    times: gpuTimes(random),
    lengths: lengths(random, 300, 90),
    kvTokens: 200_000,
    ask: { what: 'goodput', ttft: between(6, 12, random), itl: between(1.6, 2.6, random) },
  }),
  'long prompts, tokens within TTFT and ITL': (random) => ({
    times: gpuTimes(random),
    lengths: lengths(random, 2500, 60),
    kvTokens: 600_000,
    ask: { what: 'tokens', ttft: between(3, 7, random), itl: between(4, 9, random) },
    axes: { max_num_batched_tokens: [0, 128, 256, 512, 1024, 2048, 4096] },
  }),
  'long answers in little KV cache': (random) => ({
    times: gpuTimes(random, { contextNs: between(60, 150, random) }),
    lengths: lengths(random, 200, 250),
    kvTokens: between(12_000, 22_000, random),
    ask: { what: 'tokens', ttft: between(8, 20, random), itl: between(3, 5, random) },
    axes: { gpu_memory: [0.6, 0.9], kv_cache_dtype: ['auto', 'fp8'], max_num_batched_tokens: [0, 512, 2048] },
    original: { gpu_memory: 0.6 },
  }),
  'cores and threads': (random) => ({
    times: cpuTimes(random),
    lengths: lengths(random, 80, 40),
    kvTokens: 40_000,
    ask: { what: 'tokens', ttft: between(6, 12, random), itl: between(10, 20, random) },
    axes: {
      max_num_seqs: [1, 2, 4, 8, 16],
      max_num_batched_tokens: [32, 64, 128, 512],
      threads: [2, 4, 6, 8, 12],
    },
    original: { max_num_seqs: 4, max_num_batched_tokens: 512, threads: 4 },
    high: 48,
  }),
  'memory that runs out': (random) => {
    const most = between(90, 220, random);
    return {
      times: gpuTimes(random),
      lengths: lengths(random, 500, 120),
      kvTokens: 90_000,
      ask: { what: 'tokens', ttft: between(5, 10, random), itl: between(4, 8, random) },
      axes: { gpu_memory: [0.7, 0.8, 0.9], max_num_batched_tokens: [512, 1024, 2048, 8192] },
      original: { gpu_memory: 0.7 },
      // Captured graphs and activations must fit into the memory that the KV cache leaves.
      refuses: ({ gpu_memory, max_num_seqs, max_num_batched_tokens }) =>
        max_num_seqs * gpu_memory ** 4 + max_num_batched_tokens / 64 > most,
    };
  },
  'shared prefixes': (random) => ({
    times: gpuTimes(random),
    lengths: lengths(random, 1500, 80, between(0.4, 0.8, random)),
    kvTokens: 300_000,
    ask: { what: 'goodput', ttft: between(4, 9, random), itl: between(1.8, 3, random) },
    axes: { prefix_caching: [false, true], max_num_batched_tokens: [0, 512, 1024, 4096] },
  }),
  'requests within latency': (random) => ({
    times: gpuTimes(random, { mixedNs: between(4, 9, random) * MS }),
    lengths: lengths(random, 120, 60),
    kvTokens: 100_000,
    ask: { what: 'requests', ttft: 0, itl: between(1.8, 3.5, random) },
  }),
  'bits of the KV cache': (random) => ({
    times: gpuTimes(random, { contextNs: between(60, 120, random) }),
    lengths: lengths(random, 900, 150),
    kvTokens: between(50_000, 90_000, random),
    ask: { what: 'goodput', ttft: between(5, 10, random), itl: between(1.8, 3, random) },
    axes: { kv_cache_dtype: ['auto', 'fp8'], max_num_batched_tokens: [0, 512, 1024, 4096] },
  }),
};

const names = Object.keys(kinds);

/** The number of made-up engines used to choose constants of the search: the first of each kind. */
export const CHOSEN_BY_ENGINES = names.length;
/** The number of made-up engines: two of each kind. The second ones judge the search. */
export const ALL_ENGINES = 2 * names.length;

const GRID_LEVELS = [1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192];
const MAX_IN_FLIGHT = 192;

/** Returns the `index`-th made-up engine, always the same for an index. */
export function engineAt(index: number): Engine {
  const kind = names[index % names.length] as string;
  const random = randomFor(`engine ${index}`);
  const {
    times,
    axes,
    original,
    refuses = () => false,
    high = MAX_IN_FLIGHT,
    ...made
  } = (kinds[kind] as (random: Random) => Made)(random);
  return {
    name: `engine ${index} (${kind})`,
    ...made,
    times: (settings) => toStepTimes(times, settings),
    roundTripNs: between(0.5, 4, random) * MS,
    axes: { ...usualAxes, ...axes },
    original: { ...usualOriginal, ...original },
    refuses,
    levels: { mode: 'concurrency', low: 1, high },
    gridLevels: GRID_LEVELS.filter((level) => level <= high),
    noise: { throughput: between(0.01, 0.02, random), latency: between(0.03, 0.05, random) },
  };
}
