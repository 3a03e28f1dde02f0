import { randomFor, standardNormal } from '#base/random.ts';
import { toOriginal } from '#space/model-configs.ts';
import { spaceFromJson } from '#space/source/load.ts';
import type { Candidate } from '#space/types.ts';
import { toSpec } from '#spec/spec-of-options.ts';
import { FINAL_ROUNDS, representative } from '#study/final/final.ts';
import type { StudyRecord } from '#study/records/records.ts';
import type { StudyState } from '#study/records/state.ts';
import { makeSampler, type SamplerName } from '#study/search/samplers/registry.ts';
import { viewSpace } from '#study/search/samplers/space-view.ts';
import type { Goal, LevelRange } from '#study/types.ts';
import type { TunerEvent } from '#tuner/seams.ts';
import { tune } from '#tuner/tune.ts';
import { machineSpeed, speedKinds } from '../../../lab/problems/machine-speed.ts';
import type { TestProblem } from '../../../lab/problems/problem.ts';
import { atSpeed, type Truth } from '../../../lab/problems/truth.ts';
import { usualSpeedsIn } from '../../../lab/problems/whole-study.ts';
import { NOWHERE, OfflineWorld } from '../../../lab/problems/world.ts';
import { goalOf, originalConfig, studyStarted } from '../builders.ts';

/** A study on a made-up server whose truth is known, in virtual time. */
export interface SimulatedStudy {
  readonly state: StudyState;
  readonly records: readonly StudyRecord[];
  readonly events: readonly TunerEvent[];
  /**
   * How many times better the best truly is than the original config, each at the level that the
   * study reports; at the lowest and the highest speed that is usual on the machine. null where one
   * of them does not stand.
   */
  readonly trueGain: { readonly low: number; readonly high: number } | null;
}

const space = spaceFromJson({
  name: 'made-up',
  parameters: {
    max_batch_size: [4, 8, 16],
    instances: [1, 2, 3],
    arm: { path: 'parameters.arm.string_value', values: ['a', 'b'] },
  },
});
const original = toOriginal(originalConfig);
const view = viewSpace(space, original);
const levels: LevelRange = { mode: 'concurrency', low: 1, high: 128 };
const samplers: readonly SamplerName[] = [
  'random',
  'random',
  'random',
  'hill-climb',
  'hill-climb',
  'tpe',
  'tpe',
  'queueing',
];

/** Runs the study of this seed. The seed draws server, noise, machine, goal, limits and sampler. */
export async function simulatedStudy(seed: number): Promise<SimulatedStudy> {
  const random = randomFor(`told ${seed}`);
  const oneOf = <T>(values: readonly T[]): T => values[random.int(0, values.length - 1)] as T;
  const noise = { throughput: oneOf([0.005, 0.02, 0.06]), latency: oneOf([0.02, 0.08]) };
  /** Servers on which nothing is better, a little, and much. */
  const spread = oneOf([0, 0.02, 0.1, 0.4, 0.4]);
  const aloneMs = 2 + 8 * random.float();
  const truth = truthOf(seed, spread, aloneMs);
  const isRefused = random.float() < 0.2;
  const problem: TestProblem = {
    name: 'm',
    space: view,
    baseline: original,
    levels,
    noise,
    truth,
    gridLevels: [1, 4, 16, 64],
    refusal: ({ shape }) => (isRefused && shape.policy.instances > 2 ? 'out of memory' : null),
    loadMs: () => 400,
  };
  const goal = goalFor(oneOf(['none', 'wide', 'narrow', 'impossible', 'latency'] as const), aloneMs);
  const world = new OfflineWorld(problem, {
    seed,
    statistics: random.float() < 0.1,
    isLocal: random.float() < 0.5,
    stalls: oneOf([0, 0, 0.1]),
    speed: machineSpeed(oneOf(speedKinds), seed),
  });
  const leastGain = oneOf([undefined, undefined, 5, 20]);
  const name = oneOf(samplers);
  const {
    type: _,
    at: __,
    ...study
  } = studyStarted(goal, {
    original,
    levels,
    sampler: name,
    seed,
    space: space.definition,
    server: NOWHERE,
    adapter: 'triton',
    spec: toSpec({ model: 'm', ...(leastGain !== undefined && { leastGain }) }),
  });
  const [records, events]: [StudyRecord[], TunerEvent[]] = [[], []];
  const interrupt = new AbortController();
  const interruptedAfter = random.float() < 0.1 ? random.int(3, 40) : Number.POSITIVE_INFINITY;
  const state = await tune(
    {
      study,
      maxTrials: oneOf([1, 3, 6]),
      timeBudgetMs: oneOf([12_000, 30_000, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]),
      finalRounds: FINAL_ROUNDS,
      allowForeignTraffic: false,
      earlier: [],
    },
    {
      adapter: world.adapter,
      sampler: makeSampler(name, view, { seed, goal, levels }),
      journal: { append: async (record) => void records.push(record) },
      clock: world.clock,
    },
    (event) => {
      if (events.push(event) >= interruptedAfter) interrupt.abort(new Error('interrupted'));
    },
    interrupt.signal,
  );
  return { state, records, events, trueGain: trueGainOf(state, world, truth, goal) };
}

/**
 * The server's truth: a config serves the same at each level up to where its instances are busy;
 * then requests wait (Little's law).
 */
function truthOf(seed: number, spread: number, aloneMs: number): TestProblem['truth'] {
  return ({ fingerprint }: Candidate, level: number): Truth => {
    const factor = Math.exp(spread * standardNormal(randomFor(`truth ${seed} ${fingerprint}`)));
    const most = (8000 * factor) / aloneMs;
    const throughput = Math.min(most, (1000 * level) / aloneMs);
    const avg = (1000 * level) / throughput;
    return {
      throughput,
      latencyMs: { avg, p50: avg, p90: 1.1 * avg, p95: 1.2 * avg, p99: 1.3 * avg },
      queueUs: 1000 * (avg - aloneMs),
      computeUs: 900 * aloneMs,
      batches: [{ size: 1, executions: 100, meanExecutionUs: 900 * aloneMs }],
    };
  };
}

function goalFor(kind: 'none' | 'wide' | 'narrow' | 'impossible' | 'latency', aloneMs: number): Goal {
  if (kind === 'latency') return goalOf(null, { objectives: [{ metric: 'latency-p99', weight: 1 }] });
  const times = { none: null, wide: 12, narrow: 2.2, impossible: 0.5 }[kind];
  return goalOf(times === null ? null : Number((times * aloneMs).toFixed(2)));
}

function trueGainOf(state: StudyState, world: OfflineWorld, truth: TestProblem['truth'], goal: Goal) {
  const { best, baseline } = state;
  const [own, other] = [best && representative(state, best), baseline && representative(state, baseline)];
  if (!best || !baseline || !own || !other) return null;
  const isLatency = goal.objectives[0]?.metric === 'latency-p99';
  const ratios = usualSpeedsIn(world, world.seconds).map((speed) => {
    const [a, b] = [
      atSpeed(truth(best.candidate, own.measurement.level.value), speed),
      atSpeed(truth(baseline.candidate, other.measurement.level.value), speed),
    ];
    return isLatency ? b.latencyMs.p99 / a.latencyMs.p99 : a.throughput / b.throughput;
  });
  return { low: Math.min(...ratios), high: Math.max(...ratios) };
}
