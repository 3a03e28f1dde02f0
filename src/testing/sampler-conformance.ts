import assert from 'node:assert/strict';
import type { Measurement } from '#profiler/measurement.ts';
import { joinSpaces, jointOriginal } from '#space/joint/joint-space.ts';
import { toOriginal } from '#space/model-configs.ts';
import { allows, type Narrowing } from '#space/narrowing.ts';
import { spaceFromJson } from '#space/source/load.ts';
import { readJsonSource } from '#space/source/source.ts';
import type { Topology } from '#space/topology.ts';
import type { Candidate } from '#space/types.ts';
import { jointSpaceView } from '#study/search/samplers/joint-space-view.ts';
import { createSampler, type SamplerDefinition, toKind } from '#study/search/samplers/registry.ts';
import { type SpaceView, viewSpace } from '#study/search/samplers/space-view.ts';
import type { Goal, LevelPlan, Proposal, Remaining, Sampler, Trial } from '#study/types.ts';
import type { ConformanceCheck } from './check.ts';

/**
 * What a sampler is run on: a space, the first measurements, and what a person rules out in turn.
 */
interface Subject {
  readonly original: Candidate;
  readonly topology?: Topology;
  readonly narrowings: readonly Narrowing[];
  view(narrowing: Narrowing): SpaceView;
}

/**
 * A small space of 15 candidates. One setting applies only to some of them, and one combination is
 * illegal.
 */
const space = spaceFromJson({
  name: 'small',
  parameters: {
    max_batch_size: [1, 4, 8],
    queue_delay_us: { values: [0, 100], when: { max_batch_size: { above: 1 } } },
    instances: [1, 2, 3, 4],
  },
  rules: [{ require: 'instances != 3', message: 'never three' }],
});

const original = toOriginal({
  name: 'm',
  backend: 'python',
  max_batch_size: 4,
  instance_group: [{ kind: 'KIND_CPU', count: 1 }],
});

const one: Subject = {
  original,
  view: (narrowing) => viewSpace(space, original, narrowing),
  narrowings: [
    { max_batch_size: { pinned: 4 } },
    { instances: { excluded: [1, 4] } },
    { queue_delay_us: { excluded: [0, 100] }, instances: { pinned: 2 } },
  ],
};

/** Two models behind an ensemble: 15 candidates, and one illegal combination of their settings. */
function several(): Subject {
  const member = { backend: 'python', max_batch_size: 4, instance_group: [{ kind: 'KIND_CPU', count: 1 }] } as const;
  const whole = {
    name: 'whole',
    platform: 'ensemble',
    max_batch_size: 4,
    ensemble_scheduling: { step: [{ model_name: 'a' }, { model_name: 'b' }] },
  };
  const joined = jointOriginal({ a: { name: 'a', ...member }, b: { name: 'b', ...member } }, { whole }, 'whole');
  const spaces = {
    a: spaceFromJson({ parameters: { max_batch_size: [4, 8], instances: [1, 2] } }),
    b: spaceFromJson({ parameters: { instances: [1, 2, 3, 4] } }),
  };
  const rules = [{ require: 'a.instances != 2 or b.instances != 3 or a.max_batch_size != 8', message: 'not so' }];
  const joint = joinSpaces(spaces, joined, 'whole', readJsonSource('rules', { rules }));
  return {
    original: joined,
    topology: { fronts: [{ model: 'whole', steps: [{ stage: 'a' }, { stage: 'b' }] }], stages: ['a', 'b'] },
    view: (narrowing) => jointSpaceView(joint, narrowing),
    narrowings: [
      { 'a/max_batch_size': { pinned: 8 } },
      { 'b/instances': { excluded: [1, 4] } },
      { 'a/instances': { pinned: 2 }, 'b/instances': { excluded: [2] } },
    ],
  };
}

const goal: Goal = {
  budget: { percentile: 99, latencyMs: 8 },
  constraints: [],
  objectives: [{ metric: 'throughput', weight: 1 }],
};

const levels = { mode: 'concurrency', low: 1, high: 64 } as const;
const unlimited: Remaining = { trials: Number.POSITIVE_INFINITY, seconds: Number.POSITIVE_INFINITY };

/** A sampler that has not stopped after this number of proposals counts as endless. */
const MAX_TRIALS = 500;

/**
 * Returns the checks that every sampler must pass, for any test framework:
 * `for (const { name, run } of samplerConformance(sampler)) it(name, run)`. The checks run the
 * sampler on small spaces with made-up measurements: of one model, and of two that are tuned
 * together.
 */
export function samplerConformance(definition: SamplerDefinition): readonly ConformanceCheck[] {
  return [
    ...checksOn(one, definition),
    ...checksOn(several(), definition).map(({ name, run }) => ({ name: `${name}, of several models`, run })),
  ];
}

function checksOn(subject: Subject, definition: SamplerDefinition): readonly ConformanceCheck[] {
  const { topology } = subject;
  const make = (seed: number, narrowing: Narrowing = {}): Played => {
    const view = subject.view(narrowing);
    const options = { seed, goal, levels, topology, leastGain: undefined };
    return { view, original: subject.original, sampler: createSampler(toKind(definition), view, options) };
  };
  const checks: Readonly<Record<string, () => void>> = {
    'has a name': () => assert.match(definition.name, /^\S+$/, 'its name is empty, or has blanks'),
    'proposes legal candidates, none twice at one level, and stops with a reason': () => proposesAndStops(make(1)),
    'is a function of seed and history': () => isPure(make),
    'leaves the history as it was': () => leavesHistory(make(1)),
    'proposes nothing that a person has ruled out': () => heedsNarrowing(make, subject.narrowings),
    'stops when every candidate was tried': () => stopsAtTheEnd(make(1)),
  };
  return Object.entries(checks).map(([name, check]) => ({ name, run: async () => check() }));
}

interface Played {
  readonly original: Candidate;
  readonly view: SpaceView;
  readonly sampler: Sampler;
}

type Make = (seed: number, narrowing?: Narrowing) => Played;

function proposesAndStops(played: Played): void {
  const { trials, reason } = drained(played);
  assert.ok(trials.length > 1, 'it proposes nothing');
  assert.ok(reason.length > 0, 'it gives no reason');
  const seen = trials.map(({ candidate, measurements }) => `${candidate.fingerprint} ${measurements[0]?.level.value}`);
  assert.equal(new Set(seen).size, seen.length, 'a candidate is proposed twice at one level');
}

function isPure(make: Make): void {
  const { trials, answers } = drained(make(7));
  for (let length = 1; length < trials.length; length++) {
    const history = { trials: trials.slice(0, length) };
    const { sampler } = make(7);
    const answer = sampler.ask(history, unlimited);
    assert.deepEqual(answers[length - 1], answer, 'one that was asked before answers otherwise');
    assert.deepEqual(sampler.ask(history, unlimited), answer, 'asked twice, it answers otherwise');
  }
}

function leavesHistory({ sampler, original }: Played): void {
  const trials = [baseline(original)];
  const before = JSON.stringify(trials);
  sampler.ask({ trials: Object.freeze(trials) }, unlimited);
  assert.equal(JSON.stringify(trials), before, 'it has changed the history');
}

function heedsNarrowing(make: Make, narrowings: readonly Narrowing[]): void {
  for (const narrowing of narrowings) {
    for (const { candidate } of drained(make(1, narrowing)).trials.slice(1)) {
      for (const [name, value] of Object.entries(candidate.assignment))
        assert.ok(allows(narrowing, name, value), `${name}=${JSON.stringify(value)} is ruled out, and proposed`);
    }
  }
}

function stopsAtTheEnd({ view, sampler, original }: Played): void {
  const candidates = [...view.assignments()].flatMap((assignment) => {
    const built = view.build(assignment);
    return built.legal ? [built.candidate] : [];
  });
  const trials = candidates.flatMap((candidate, index) =>
    [1, 2, 4, 8, 16, 32, 64].map((level, place) => toTrial(1 + 7 * index + place, candidate, level)),
  );
  const answer = sampler.ask({ trials: [baseline(original), ...trials] }, unlimited);
  assert.equal(answer.kind, 'stop', 'it goes on when nothing is left to try');
}

interface Drained {
  /** The baseline, and what was proposed. */
  readonly trials: readonly Trial[];
  /** The proposal after each trial but the last. */
  readonly answers: readonly Proposal[];
  readonly reason: string;
}

/** Asks until the sampler stops. Measures each proposal at the level where it begins. */
function drained({ view, sampler, original }: Played): Drained {
  const trials: Trial[] = [baseline(original)];
  const answers: Proposal[] = [];
  for (let number = 1; number < MAX_TRIALS; number++) {
    const answer = sampler.ask({ trials }, unlimited);
    if (answer.kind === 'stop') return { trials, answers, reason: answer.reason };
    answers.push(answer);
    const built = view.build(answer.assignment);
    assert.ok(built.legal, `it proposes what is illegal: ${'reason' in built && built.reason}`);
    trials.push(toTrial(number, built.candidate, firstLevel(answer.levels)));
  }
  assert.fail(`it has not stopped after ${MAX_TRIALS} proposals in a space of fewer candidates`);
}

const baseline = (original: Candidate): Trial => ({ ...toTrial(0, original, 1), role: 'baseline' });

const firstLevel = (plan: LevelPlan): number =>
  plan.kind === 'search' ? (plan.start ?? levels.low) : (plan.values[0] ?? levels.low);

function toTrial(number: number, candidate: Candidate, level: number): Trial {
  const measurement = measured(level, 100 + 10 * candidate.shape.policy.instances + level, 5);
  return { number, role: 'search', candidate, measurements: [measurement], chosen: 0, feasible: true, failure: null };
}

/** Returns a measurement in which every latency is `latencyMs`. */
function measured(level: number, throughput: number, latencyMs: number): Measurement {
  const spread = (value: number) => ({ value, low: 0.98 * value, high: 1.02 * value });
  const ms = latencyMs;
  return {
    level: { mode: 'concurrency', value: level },
    throughput: spread(throughput),
    latencyMs: { avg: ms, p50: ms, p90: ms, p95: ms, p99: ms, max: ms, min: ms, std: 0 },
    budgetLatencyMs: { ...spread(ms), percentile: 99 },
    stable: true,
    windows: 3,
    durationMs: 1500,
    requests: 1000,
    sendRate: throughput,
    failures: [],
    errorRate: 0,
    server: null,
    device: {},
    client: { cpuUsPerRequest: 20, eventLoopDelayMs: 1, bound: false },
  };
}
