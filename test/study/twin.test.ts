import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import type { Profile } from '../../src/emulator/profile-schema.ts';
import { loadProfile, parseProfile } from '../../src/emulator/profiles.ts';
import { buildCandidate } from '../../src/space/candidate.ts';
import { assignments, sampleAssignment } from '../../src/space/enumerate.ts';
import { spaceFromJson } from '../../src/space/load.ts';
import type { StudyRecord } from '../../src/study/records.ts';
import { gridSampler } from '../../src/study/samplers/grid.ts';
import type { SpaceView } from '../../src/study/samplers/space-view.ts';
import { twinOf } from '../../src/study/twin/twin.ts';
import type { ModelConfig } from '../../src/triton/model-config.ts';
import { VirtualServer } from '../support/virtual-server.ts';
import { play } from '../tuner/world.ts';
import { candidateOf, goalOf, studyStarted } from './builders.ts';

const twinProfile = (records: readonly StudyRecord[]): Profile => parseProfile(stringify(twinOf(records)), 'the twin');

/** A whole study of a profile's model in virtual time, every candidate of the space tried. */
async function tuned(profile: Profile, parameters: object, budgetMs: number) {
  const server = new VirtualServer(profile);
  const { original } = server;
  const space = spaceFromJson({ name: 'test', parameters } as never);
  const view: SpaceView = {
    assignments: () => assignments(space, original),
    sample: (random) => sampleAssignment(space, original, random),
    build: (assignment) => buildCandidate(space, original, assignment),
  };
  const goal = goalOf(budgetMs);
  const { type: _, at: __, ...study } = studyStarted(goal, { model: original.name ?? '', originalConfig: original });
  const { state, error, records } = await play({
    goal,
    plan: { study, baseline: candidateOf(original), build: view.build },
    parts: { control: server.control, profile: server.profiler, clock: server.clock, sampler: gridSampler(view) },
  });
  expect(error).toBeNull();
  return { state: state as NonNullable<typeof state>, records };
}

/** The most that a config serves within the budget. */
function capacity(server: VirtualServer, config: ModelConfig, budgetMs: number): number {
  const levels = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];
  const within = levels.map((level) => server.measure(config, level)).filter((one) => one.latencyMs.p99 <= budgetMs);
  return Math.max(0, ...within.map(({ throughput }) => throughput.value));
}

const sizes = {
  instances: [1, 2, 3, 4],
  max_batch_size: [1, 8, 16, 32],
  dynamic_batching: ['on'],
  queue_delay_us: [0, 1000],
};
const precision = {
  instances: [1, 2],
  max_batch_size: [4, 16],
  dynamic_batching: ['on'],
  tensorrt_precision: ['none', 'FP32', 'FP16'],
};

describe('tuning the twin', () => {
  it.each([
    ['sleeper', sizes, 10],
    ['demo', { ...sizes, max_batch_size: [1, 8, 16] }, 50],
    ['cliff', sizes, 40],
    ['oom', sizes, 30],
    ['slow-precision', precision, 60],
    ['tft-t4-pytorch', sizes, 100],
  ])('of %s finds as good a config as tuning it', async (name, parameters, budgetMs) => {
    const profile = loadProfile(name);
    const real = await tuned(profile, parameters, budgetMs);
    const twin = await tuned(twinProfile(real.records), parameters, budgetMs);
    const truth = new VirtualServer(profile);
    const found = capacity(truth, twin.state.best?.candidate.config as ModelConfig, budgetMs);
    const best = capacity(truth, real.state.best?.candidate.config as ModelConfig, budgetMs);
    expect(best).toBeGreaterThan(0);
    expect(found / best).toBeGreaterThan(0.95);
    expect(twin.state.counts.failed).toBe(real.state.counts.failed);
  });
});
