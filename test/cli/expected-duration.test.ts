import { mean } from 'simple-statistics';
import { describe, expect, it } from 'vitest';
import { shorterWindows, studyWindows } from '#adapter/triton/profile.ts';
import { expectedDuration, type Prospect } from '#app/study/expected-duration.ts';
import { chooseLevels } from '#app/study/goal.ts';
import { seededRandom } from '#base/random.ts';
import { NS_PER_S } from '#base/units.ts';
import { loadProfile } from '#emulator/profile/profiles.ts';
import { defaultWindowRule } from '#profiler/level-options.ts';
import { toModelConfig, toOriginal } from '#space/model-configs.ts';
import { mostPlaces } from '#space/most-places.ts';
import { loadSpace } from '#space/source/load.ts';
import { presetFor } from '#space/source/presets.ts';
import { toSpec } from '#spec/spec-of-options.ts';
import type { SamplerName } from '#study/search/samplers/registry.ts';
import { makeSampler, samplerKind } from '#study/search/samplers/registry.ts';
import { viewSpace } from '#study/search/samplers/space-view.ts';
import type { Profile } from '#tuner/adapter.ts';
import { goalOf, studyStarted } from '../study/builders.ts';
import { isNightly } from '../support/fuzz.ts';
import { VirtualServer } from '../support/virtual-server.ts';
import { play } from '../tuner/world.ts';

const FINAL_ROUNDS = 2;
const WARM_UP_MS = 550;
/** A server counts its seed up with each measurement. */
const FAR_APART = 100_000;

/**
 * Takes the time that the rule of windows takes: longer for slow answers and low rates, and as many
 * as it may be.
 */
function inItsTime(server: VirtualServer, seed: number): Profile {
  const random = seededRandom(seed);
  const { minRequests } = defaultWindowRule;
  return {
    measure: async ({ candidate }, level, { signal, purpose }) => {
      const { minWindowMs, maxWindowMs, minWindows, maxWindows } = {
        ...defaultWindowRule,
        ...studyWindows,
        ...(purpose && shorterWindows[purpose]),
      };
      const measurement = server.measure(toModelConfig(candidate), level.value);
      const wantedMs = Math.max(20 * measurement.latencyMs.avg, (minRequests * 1e3) / measurement.throughput.value);
      const windowMs = Math.min(Math.max(wantedMs, minWindowMs), maxWindowMs);
      await server.clock.sleep(WARM_UP_MS + random.int(minWindows, maxWindows) * windowMs, signal);
      return measurement;
    },
  };
}

interface Asked {
  readonly profile: string;
  readonly sampler: SamplerName;
  readonly budgetMs: number;
  readonly maxTrials: number;
  readonly timeBudgetMs?: number;
  /** Instead of the profile's own. */
  readonly loadSeconds?: number;
  /**
   * What these studies take on average: where the original config is about the best, some have a
   * final and others none; and random candidates vary. [1] if absent.
   */
  readonly seeds?: readonly number[];
}

function serverOf({ profile: name, loadSeconds }: Asked, seed = 1): VirtualServer {
  const profile = loadProfile(name);
  const drawn = 1 + FAR_APART * (seed - 1);
  if (loadSeconds === undefined) return new VirtualServer(profile, drawn);
  const slow = profile.models.map((model) => ({ ...model, load: { ...model.load, full_s: loadSeconds } }));
  return new VirtualServer({ ...profile, models: slow }, drawn);
}

/** What a dry run sees of the model. */
function seen(asked: Asked): Pick<Prospect, 'requestMs' | 'loadSeconds'> {
  const server = serverOf(asked);
  const loadSeconds = asked.loadSeconds ?? loadProfile(asked.profile).models[0]?.load.full_s ?? null;
  return { requestMs: server.measure(server.original, 1).latencyMs.avg, loadSeconds };
}

/** What a whole study of an emulator's model takes, in seconds of virtual time. */
async function taken(asked: Asked, expectedSeconds: number, seed = 1): Promise<number> {
  const { sampler, budgetMs, maxTrials, timeBudgetMs } = asked;
  const server = serverOf(asked, seed);
  const { original } = server;
  const space = loadSpace(presetFor(original.backend || original.platform), {
    limits: { latency_budget_us: budgetMs * 1e3 },
  });
  const view = viewSpace(space, toOriginal(original));
  const goal = goalOf(budgetMs);
  // The others find their levels one by one, and go as far up here as before the range was derived.
  const places = sampler === 'queueing' ? mostPlaces(space, toOriginal(original)) : 1;
  const levels = chooseLevels(toSpec({ model: original.name ?? '' }), places);
  const {
    type: _,
    at: __,
    ...study
  } = studyStarted(goal, { model: original.name ?? '', original: toOriginal(original), levels });
  const limits = {
    maxTrials,
    finalRounds: FINAL_ROUNDS,
    ...(timeBudgetMs !== undefined && { timeBudgetMs }),
    ...(sampler === 'queueing' && {
      usual: { seconds: expectedSeconds, isAim: maxTrials === Number.POSITIVE_INFINITY, loads: 0, loadSeconds: 0 },
    }),
  };
  const { state, error } = await play({
    goal,
    plan: { study, ...limits },
    parts: {
      build: view.build,
      control: server.control,
      profile: inItsTime(server, seed),
      clock: server.clock,
      sampler: makeSampler(sampler, view, { seed, goal, levels }),
    },
  });
  if (!state) throw error;
  return server.clock.nowNs() / NS_PER_S;
}

/** Studies that take long to play. */
const long: readonly Asked[] = [
  { profile: 'oom', sampler: 'queueing', budgetMs: 43, maxTrials: 7 },
  { profile: 'yolov7-rtx4090', sampler: 'queueing', budgetMs: 45, maxTrials: Number.POSITIVE_INFINITY },
  { profile: 'sleeper', sampler: 'queueing', budgetMs: 10, maxTrials: Number.POSITIVE_INFINITY },
  { profile: 'harmful-delay', sampler: 'queueing', budgetMs: 80, maxTrials: 4, seeds: [1, 2, 3, 4] },
  // It stops by itself, and aims at what was expected.
  { profile: 'oom', sampler: 'queueing', budgetMs: 43, maxTrials: Number.POSITIVE_INFINITY },
  { profile: 'demo', sampler: 'queueing', budgetMs: 69, maxTrials: Number.POSITIVE_INFINITY },
  { profile: 'tft-t4-pytorch', sampler: 'queueing', budgetMs: 69, maxTrials: Number.POSITIVE_INFINITY, seeds: [1, 2] },
  { profile: 'tft-a30', sampler: 'queueing', budgetMs: 18, maxTrials: Number.POSITIVE_INFINITY, seeds: [1, 2] },
];

describe('the expected duration', { timeout: 120_000 }, () => {
  it.each<Asked>([
    { profile: 'demo', sampler: 'random', budgetMs: 80, maxTrials: 4 },
    { profile: 'demo', sampler: 'random', budgetMs: 80, maxTrials: 10 },
    { profile: 'demo', sampler: 'hill-climb', budgetMs: 80, maxTrials: 10 },
    { profile: 'demo', sampler: 'grid', budgetMs: 80, maxTrials: 4 },
    { profile: 'cliff', sampler: 'grid', budgetMs: 200, maxTrials: 5 },
    { profile: 'demo', sampler: 'random', budgetMs: 80, maxTrials: 10, loadSeconds: 12 },
    { profile: 'cliff', sampler: 'random', budgetMs: 60, maxTrials: 10, seeds: [1, 2, 3, 4] },
    { profile: 'cliff', sampler: 'hill-climb', budgetMs: 60, maxTrials: 10 },
    ...(isNightly ? long : []),
  ])('is within 30 % of what $sampler takes: $profile, $maxTrials trials', async (asked) => {
    const { sampler, budgetMs, maxTrials: trials } = asked;
    const prospect = {
      sampler: samplerKind(sampler),
      trials,
      budgetMs,
      finalRounds: FINAL_ROUNDS,
      isEmulated: true,
      ...seen(asked),
    };
    const { seconds } = expectedDuration({ ...prospect, timeBudgetMs: Number.POSITIVE_INFINITY });
    const each: number[] = [];
    for (const seed of asked.seeds ?? [1]) each.push(await taken(asked, seconds, seed));
    const ratio = seconds / mean(each);
    expect(ratio).toBeGreaterThan(0.7);
    expect(ratio).toBeLessThan(1.3);
  });

  it.each([40_000, 90_000])(
    'is the time budget of %d ms where that is less, which a study keeps',
    async (timeBudgetMs) => {
      const asked = { profile: 'demo', sampler: 'random', budgetMs: 80, maxTrials: 100, timeBudgetMs } as const;
      const prospect = {
        sampler: samplerKind('random'),
        trials: 100,
        budgetMs: 80,
        finalRounds: FINAL_ROUNDS,
        isEmulated: true,
        ...seen(asked),
      } as const;
      const { seconds } = expectedDuration({ ...prospect, timeBudgetMs });
      expect(seconds).toBe(timeBudgetMs / 1e3);
      const real = await taken(asked, seconds);
      // One measurement of a slow candidate may still be under way: six windows at most, after a
      // warm-up and a load.
      const longestSeconds = (WARM_UP_MS + 6 * defaultWindowRule.maxWindowMs) / 1e3 + 0.3;
      expect(real).toBeLessThan(seconds + longestSeconds);
      expect(real).toBeGreaterThan(0.7 * seconds);
    },
  );

  it('is a span where a real server says nothing of its loads', () => {
    const prospect: Prospect = {
      sampler: samplerKind('queueing'),
      trials: 400,
      budgetMs: 20,
      finalRounds: FINAL_ROUNDS,
      requestMs: 2.7,
      timeBudgetMs: Number.POSITIVE_INFINITY,
      isEmulated: false,
      loadSeconds: null,
    };
    const unknown = expectedDuration(prospect);
    const slow = expectedDuration({ ...prospect, loadSeconds: 1.25 });
    const fast = expectedDuration({ ...prospect, loadSeconds: 0.1 });
    expect(unknown.leastSeconds).toBeLessThan(0.7 * unknown.seconds);
    expect(unknown.leastSeconds).toBeCloseTo(fast.seconds, 6);
    expect(unknown.seconds).toBeCloseTo(slow.seconds, 6);
    for (const known of [slow, fast, expectedDuration({ ...prospect, isEmulated: true })])
      expect(known.leastSeconds).toBe(known.seconds);
  });
});
