import type { Candidate } from '../../src/space/types.ts';
import type { Goal } from '../../src/study/types.ts';
import { memoizedTruth, type TestProblem } from '../problems/problem.ts';
import type { Ask, Engine } from './engine.ts';
import { engineCandidate, engineSpace, toSettings } from './engine-space.ts';
import { engineTruth } from './engine-truth.ts';

/** The time of an engine's start: loading the weights, capturing graphs. */
const LOAD_MS = 45_000;
const NS_PER_MS = 1e6;

/** Returns a made-up engine as a problem for samplers, with its goal. */
export function engineProblem(engine: Engine): TestProblem {
  const baseline = engineCandidate(engine, engine.original);
  const goal = toGoal(engine, baseline);
  return {
    name: engine.name,
    space: engineSpace(engine),
    baseline,
    goal,
    levels: engine.levels,
    noise: engine.noise,
    gridLevels: engine.gridLevels,
    truth: memoizedTruth((candidate, level) => engineTruth(engine, candidate, level, goal.goodput)),
    refusal: (candidate) => (engine.refuses(toSettings(candidate)) ? 'CUDA out of memory' : null),
    loadMs: () => LOAD_MS,
  };
}

/**
 * Returns the goal: its limits are multiples of the original settings' figures at the lightest
 * load.
 */
function toGoal(engine: Engine, baseline: Candidate): Goal {
  const { tokens, latencyMs } = engineTruth(engine, baseline, engine.gridLevels[0] as number, undefined);
  const { ask } = engine;
  const ttftMs = rounded(ask.ttft * (tokens?.ttftMs.p99 ?? 0));
  const itlMs = rounded(ask.itl * (tokens?.itlMs.p50 ?? 0));
  const plain = { budget: null, constraints: [], objectives: [{ metric: formatObjective(ask), weight: 1 }] };
  if (ask.what === 'goodput') {
    const e2eMs = rounded(ask.itl * latencyMs.p99);
    return { ...plain, goodput: { ttftNs: ttftMs * NS_PER_MS, tpotNs: itlMs * NS_PER_MS, e2eNs: e2eMs * NS_PER_MS } };
  }
  if (ask.what === 'tokens')
    return {
      ...plain,
      constraints: [
        { metric: 'ttft-p99', relation: '<=', value: ttftMs },
        { metric: 'itl-p99', relation: '<=', value: itlMs },
      ],
    };
  return { ...plain, budget: { percentile: 99, latencyMs: rounded(ask.itl * latencyMs.p99) } };
}

const formatObjective = ({ what }: Ask): string =>
  ({ goodput: 'goodput', tokens: 'output-token-throughput', requests: 'throughput' })[what];

const rounded = (value: number): number => Number(value.toPrecision(3));
