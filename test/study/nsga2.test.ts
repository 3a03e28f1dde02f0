import { describe, expect, it } from 'vitest';
import { toOriginal } from '#space/model-configs.ts';
import { spaceFromJson } from '#space/source/load.ts';
import type { Assignment } from '#space/types.ts';
import { nsga2Sampler } from '#study/search/samplers/nsga2.ts';
import { randomSampler } from '#study/search/samplers/random.ts';
import { viewSpace } from '#study/search/samplers/space-view.ts';
import type { Sampler, Trial } from '#study/types.ts';
import { goalOf, measured, originalConfig, trialOf } from './builders.ts';
import { drain, smallSpace, smallSpaceSize } from './sampler-suite.ts';

const unlimited = { trials: Number.POSITIVE_INFINITY, seconds: Number.POSITIVE_INFINITY };
const seeds = Array.from({ length: 20 }, (_, index) => index + 1);
const goal = goalOf(20);

/** More than 1,000 candidates, of which some have no delay. */
const space = spaceFromJson({
  name: 'large',
  parameters: {
    max_batch_size: [1, 2, 4, 8, 16, 32],
    queue_delay_us: { values: [0, 100, 200, 500, 1000, 2000], when: { max_batch_size: { above: 1 } } },
    queue_size: {
      path: 'dynamic_batching.default_queue_policy.max_queue_size',
      values: [0, 16, 32, 64, 128],
      when: { max_batch_size: { above: 1 } },
    },
    instances: [1, 2, 3, 4, 5, 6, 7, 8],
  },
});
const view = viewSpace(space, toOriginal(originalConfig));

/**
 * Batches and instances serve more and take longer; a delay of 200 µs and a queue of 32 requests
 * are best.
 */
function served({ max_batch_size, queue_delay_us = 0, queue_size = 0, instances }: Record<string, number>) {
  const [batch, count] = [max_batch_size as number, instances as number];
  const off = Math.abs(Math.log2((queue_delay_us + 50) / 250)) / 4 + Math.abs(Math.log2((queue_size + 8) / 40)) / 4;
  return { throughput: (100 * count * Math.sqrt(batch)) / (1 + off), latencyMs: 2 + batch + count * (1 + off / 2) };
}

function trialWith(assignment: Assignment, number: number): Trial {
  const built = view.build(assignment);
  if (!built.legal) throw new Error(built.reason);
  const { throughput, latencyMs } = served(assignment as Record<string, number>);
  const trial = trialOf(number, {}, { measurements: [measured(8, throughput, latencyMs)], feasible: latencyMs <= 20 });
  return { ...trial, candidate: built.candidate };
}

/** So many trials of what the sampler proposes. */
function search(sampler: Sampler, count: number): readonly Trial[] {
  const trials: Trial[] = [];
  while (trials.length < count) {
    const answer = sampler.ask({ trials }, unlimited);
    if (answer.kind === 'stop') throw new Error(answer.reason);
    trials.push(trialWith(answer.assignment, trials.length + 1));
  }
  return trials;
}

const bestOf = (trials: readonly Trial[]): number =>
  Math.max(
    ...trials.filter(({ feasible }) => feasible).map(({ measurements }) => measurements[0]?.throughput.value ?? 0),
  );
const feasibleShare = (trials: readonly Trial[]): number =>
  trials.filter(({ feasible }) => feasible).length / trials.length;
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

describe('nsga2', () => {
  it('begins as random does, and reaches every candidate in the end', () => {
    const [own, random] = [nsga2Sampler(view, 3, goal), randomSampler(view, 3)].map((each) => search(each, 8));
    const assignments = (trials: readonly Trial[] = []): Assignment[] =>
      trials.map(({ candidate }) => candidate.assignment);
    expect(assignments(own).slice(0, 6)).toEqual(assignments(random).slice(0, 6));
    expect(assignments(own).slice(6)).not.toEqual(assignments(random).slice(6));
    expect(drain(nsga2Sampler(smallSpace, 5, goal)).trials).toHaveLength(1 + smallSpaceSize);
  });

  it('finds more within the budget than random draws, over many seeds', () => {
    const runs = seeds.map((seed) => ({
      own: search(nsga2Sampler(view, seed, goal), 40),
      random: search(randomSampler(view, seed), 40),
    }));
    const [own, random] = [mean(runs.map((run) => bestOf(run.own))), mean(runs.map((run) => bestOf(run.random)))];
    expect(own).toBeGreaterThan(1.05 * random);
    expect(mean(runs.map((run) => feasibleShare(run.own.slice(20))))).toBeGreaterThan(
      1.3 * mean(runs.map((run) => feasibleShare(run.random))),
    );
  });

  it('gives each parameter that applies a value, and no other', () => {
    for (const { candidate } of seeds.slice(0, 4).flatMap((seed) => search(nsga2Sampler(view, seed, goal), 40))) {
      const batching = candidate.assignment.max_batch_size === 1 ? [] : ['queue_delay_us', 'queue_size'];
      expect(Object.keys(candidate.assignment)).toEqual(['max_batch_size', ...batching, 'instances']);
    }
  });

  it('takes values of its parents: those that all of the population share are seldom left', () => {
    const trials = search(
      randomSampler(viewSpace(space, toOriginal(originalConfig), { instances: { pinned: 6 } }), 1),
      6,
    );
    const children = Array.from({ length: 200 }, (_, seed) =>
      nsga2Sampler(view, seed, goal).ask({ trials }, unlimited),
    );
    const alike = children.filter((each) => each.kind === 'trial' && each.assignment.instances === 6);
    // A random draw has one in eight; about one value of a child is drawn anew.
    expect(alike.length / children.length).toBeGreaterThan(0.5);
  });

  it('lets what failed or was not measured have no children', () => {
    const good = search(
      randomSampler(viewSpace(space, toOriginal(originalConfig), { instances: { pinned: 6 } }), 1),
      6,
    );
    const failed = search(
      randomSampler(viewSpace(space, toOriginal(originalConfig), { instances: { pinned: 2 } }), 1),
      6,
    ).map(
      (trial): Trial => ({ ...trial, chosen: null, measurements: [], failure: { kind: 'init-failed', reason: '' } }),
    );
    const askAfter = (trials: readonly Trial[]) => {
      const answers = Array.from({ length: 100 }, (_, seed) =>
        nsga2Sampler(view, seed, goal).ask({ trials }, unlimited),
      );
      return answers.filter((each) => each.kind === 'trial' && each.assignment.instances === 2).length;
    };
    expect(askAfter([...failed, ...good])).toBeLessThan(10);
    expect(askAfter([...good, ...failed])).toBeLessThan(10);
  });
});
