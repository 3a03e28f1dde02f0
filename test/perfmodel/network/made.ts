import { toChoice } from '#perfmodel/modelled-config.ts';
import { fitNetworkModel } from '#perfmodel/network/network-model.ts';
import type { MeasuredChoice, ServiceModel } from '#perfmodel/service-model.ts';
import type { Topology } from '#space/topology.ts';
import type { Assignment, Candidate } from '#space/types.ts';
import type { Pipeline, PipelineModel } from '../../../lab/pipelines/pipeline.ts';
import { pipelineMeasurement } from '../../../lab/pipelines/pipeline-measurement.ts';
import { pipelineProblem } from '../../../lab/pipelines/pipeline-problem.ts';
import type { TestProblem } from '../../../lab/problems/problem.ts';
import { law } from '../../queueing/network/builders.ts';

/** A model without noise: so many milliseconds and so many for each sample. */
export const model = (
  name: string,
  fixedMs: number,
  perSampleMs = 0,
  more: Partial<PipelineModel> = {},
): PipelineModel => ({
  name,
  law: law(fixedMs, perSampleMs),
  cores: Number.POSITIVE_INFINITY,
  isOnGpu: false,
  memory: 1,
  batch: 1,
  instances: [1, 2, 3, 4],
  batches: [1, 4, 8],
  delaysUs: [0],
  ...more,
});

export const pipeline = (models: readonly PipelineModel[], more: Partial<Pipeline> = {}): Pipeline => ({
  name: 'made',
  models,
  devices: [],
  roundTripMs: 0,
  frontEndUs: 0,
  fronts: [
    {
      model: 'ensemble',
      steps: models.map(({ name }, place) => ({ stage: name, after: place === 0 ? [] : [place - 1] })),
    },
  ],
  noise: { throughput: 0, latency: 0, execution: 0 },
  ...more,
});

/** A random source by which every normal draw is 0. */
const still = { float: () => 0, int: () => 0 };

/** A problem with what its measurements say, to the letter. */
export function without(noise: Pipeline): Played {
  const problem = pipelineProblem(noise);
  const topology = problem.topology as Topology;
  const candidate = (assignment: Assignment): Candidate => {
    const outcome = problem.space.build(assignment);
    if (!outcome.legal) throw new Error(outcome.reason);
    return outcome.candidate;
  };
  const measured = (assignment: Assignment, ...levels: readonly number[]): MeasuredChoice => {
    const own = Object.keys(assignment).length === 0 ? problem.baseline : candidate(assignment);
    const exact = { rate: 1, latency: 1, rateWidth: 0.01, latencyWidth: 0.01 };
    const measurements = levels.map((value) =>
      pipelineMeasurement(problem.truth(own, value), { mode: 'concurrency', value }, topology, exact, still),
    );
    return { choice: toChoice(own), measurements };
  };
  const simulator = (...all: readonly MeasuredChoice[]): ServiceModel =>
    fitNetworkModel(all, topology, { mode: 'concurrency', percentile: 99, seed: 1, all: [] });
  return { problem, topology, candidate, measured, simulator };
}

export interface Played {
  readonly problem: TestProblem;
  readonly topology: Topology;
  candidate(assignment: Assignment): Candidate;
  measured(assignment: Assignment, ...levels: readonly number[]): MeasuredChoice;
  simulator(...all: readonly MeasuredChoice[]): ServiceModel;
}

export const ratio = (a: number | undefined, b: number): number => Math.abs((a ?? Number.NaN) / b - 1);
