import { NS_PER_MS, NS_PER_S, NS_PER_US, nsToMs } from '../../src/base/units.ts';
import { executionNs, type ServiceLaw } from '../../src/queueing/service-law.ts';
import { simulate } from '../../src/queueing/simulate.ts';
import type { Simulation } from '../../src/queueing/tally.ts';
import type { Candidate } from '../../src/space/types.ts';
import type { ArrivalPlan } from '../../src/workload/arrival-plan.ts';
import { robustFigure } from '../../src/workload/robust-rule.ts';
import type { StudyWorkloads } from '../../src/workload/study-workloads.ts';
import { candidateOver, type GridAxes, type GridPoint } from '../problems/grid-space.ts';
import type { TestProblem } from '../problems/problem.ts';
import type { Truth } from '../problems/truth.ts';

/** A made-up model: its law, and its variable settings. */
export interface MadeUpModel {
  readonly name: string;
  readonly law: ServiceLaw;
  readonly axes: GridAxes;
  readonly baseline: GridPoint;
  /** The study's levels, in requests per second. */
  readonly low: number;
  readonly high: number;
}

const ROUND_TRIP_NS = 0.15 * NS_PER_MS;
const LOAD_MS = 1500;
const NOISE = { throughput: 0.005, latency: 0.03 };

/**
 * Returns the model under workloads as a test problem. A candidate's truth is a simulation of a
 * whole pass.
 */
export function problemUnder(model: MadeUpModel, workloads: StudyWorkloads): TestProblem {
  const space = candidateOver(model.axes);
  const truthUnder = (candidate: Candidate, plan: ArrivalPlan): Truth => toTruth(model.law, candidate, plan);
  return {
    name: model.name,
    space,
    baseline: space.candidate(model.baseline),
    levels: { mode: 'request-rate', low: model.low, high: model.high },
    noise: NOISE,
    gridLevels: [],
    truth: (candidate, level) => truthUnder(candidate, workloads.workloads[0].planAt(level)),
    under: { workloads, truth: truthUnder },
    refusal: () => null,
    loadMs: () => LOAD_MS,
  };
}

function toTruth(law: ServiceLaw, { shape }: Candidate, plan: ArrivalPlan): Truth {
  const { arrivalsNs, durationNs } = plan;
  const traffic = { kind: 'open', arrivalsNs, roundTripNs: ROUND_TRIP_NS } as const;
  const simulation = simulate(shape.policy, law, traffic, { warmUpRequests: 0, requests: arrivalsNs.length, seed: 31 });
  const { mean, p50, p90, p95, p99 } = simulation.latencyNs;
  const spanS = Math.max(durationNs / NS_PER_S, simulation.requests / simulation.requestsPerSecond);
  return {
    throughput: simulation.requests / spanS,
    latencyMs: { avg: nsToMs(mean), p50: nsToMs(p50), p90: nsToMs(p90), p95: nsToMs(p95), p99: nsToMs(p99) },
    queueUs: simulation.queueNs / NS_PER_US,
    computeUs: simulation.computeNs / NS_PER_US,
    batches: listBatches(simulation, law),
  };
}

const listBatches = ({ executions, executionNs: times }: Simulation, law: ServiceLaw): Truth['batches'] =>
  [...executions.entries()]
    .filter(([, count]) => count > 0)
    .map(([size, count]) => ({
      size,
      executions: count,
      meanExecutionUs: ((times[size] ?? 0) / count || executionNs(law, size, 1)) / NS_PER_US,
    }));

/** Steps of the search for a capacity, enough for 2 %. */
const STEPS = 9;

/**
 * Returns the highest level at which the candidate truly keeps the budget on p99, by the rule of
 * the problem's workloads, in mean requests per second of the first; 0 for none.
 */
export function trueCapacity({ under, levels }: TestProblem, candidate: Candidate, budgetMs: number): number {
  if (!under) return 0;
  const { rule, workloads } = under.workloads;
  const keeps = (level: number): boolean => {
    const latencies = workloads.map(({ weight, perLevel, planAt }) => ({
      weight,
      value: under.truth(candidate, planAt(level * perLevel)).latencyMs.p99,
    }));
    return robustFigure(rule, 'lower', latencies) <= budgetMs;
  };
  let { low, high } = levels;
  if (!keeps(low)) return 0;
  if (keeps(high)) return high;
  for (let step = 0; step < STEPS; step++) {
    const middle = Math.sqrt(low * high);
    if (keeps(middle)) low = middle;
    else high = middle;
  }
  return low;
}
