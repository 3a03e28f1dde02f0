import { joinSpaces, jointOriginal } from '../../src/space/joint/joint-space.ts';
import { spaceFromJson } from '../../src/space/source/load.ts';
import type { Candidate } from '../../src/space/types.ts';
import { jointSpaceView } from '../../src/study/search/samplers/joint-space-view.ts';
import type { ModelConfig } from '../../src/triton/config/model-config.ts';
import { memoizedTruth, type TestProblem } from '../problems/problem.ts';
import { optima } from './optima.ts';
import type { Pipeline, PipelineModel } from './pipeline.ts';
import { pipelineTruth, readTopology } from './pipeline-truth.ts';

const LOAD_MS = 1500;
const GRID_LEVELS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192];
const LEVELS = { mode: 'concurrency', low: 1, high: 192 } as const;

/** Returns a pipeline as a problem for samplers. */
export function pipelineProblem(pipeline: Pipeline): TestProblem {
  const { models, fronts, noise, name } = pipeline;
  const configs = Object.fromEntries(models.map((model) => [model.name, toConfig(model)]));
  const front = fronts[0]?.model ?? '';
  const baseline = jointOriginal(configs, {}, front);
  const spaces = Object.fromEntries(models.map((model) => [model.name, toSpace(model)]));
  const joint = joinSpaces(spaces, baseline, front);
  return {
    name,
    space: jointSpaceView(joint),
    narrowed: (narrowing) => jointSpaceView(joint, narrowing),
    baseline,
    budgets: optima[name] ?? [],
    topology: readTopology(pipeline),
    levels: { ...LEVELS, low: fronts.length },
    noise,
    gridLevels: GRID_LEVELS.filter((level) => level >= fronts.length),
    truth: memoizedTruth((candidate, level) => pipelineTruth(pipeline, candidate, level)),
    refusal: (candidate) =>
      computeMemory(pipeline, candidate) > (pipeline.memory ?? Number.POSITIVE_INFINITY) ? 'CUDA out of memory' : null,
    loadMs: () => LOAD_MS,
  };
}

/** Returns the memory that all instances together need. */
const computeMemory = ({ models }: Pipeline, { shape }: Candidate): number =>
  models.reduce((sum, { name, memory }) => sum + memory * (shape.members?.[name]?.policy.instances ?? 1), 0);

const toConfig = ({ name, isOnGpu, batch }: PipelineModel): ModelConfig => ({
  name,
  backend: 'python',
  max_batch_size: batch,
  dynamic_batching: {},
  instance_group: [isOnGpu ? { kind: 'KIND_GPU', gpus: [0], count: 1 } : { kind: 'KIND_CPU', count: 1 }],
});

const toSpace = ({ name, instances, batches, delaysUs }: PipelineModel) =>
  spaceFromJson({
    name,
    parameters: {
      max_batch_size: [...batches],
      queue_delay_us: { values: [...delaysUs], when: { max_batch_size: { above: 1 } } },
      instances: [...instances],
    },
  });
