import { NS_PER_MS, NS_PER_US, nsToMs } from '../../src/base/units.ts';
import { allFronts } from '../../src/queueing/network/all-fronts.ts';
import { simulateNetwork } from '../../src/queueing/network/simulate-network.ts';
import type { Front, Network, NetworkSimulation, Stage, StageFigures } from '../../src/queueing/network/types.ts';
import { enoughRequests } from '../../src/queueing/simulate.ts';
import { frontLevels, type Topology } from '../../src/space/topology.ts';
import type { Candidate } from '../../src/space/types.ts';
import type { FrontTruth, StageTruth, Truth } from '../problems/truth.ts';
import type { Pipeline, PipelineModel } from './pipeline.ts';

const REQUESTS = 900;
const SEED = 31;

/** Returns the topology of a pipeline, in the form of a study. */
export function readTopology({ models, fronts }: Pipeline): Topology {
  const calls = models.flatMap(({ name, calls = [] }) =>
    calls.length > 0 ? [[name, calls.map(({ model }) => model)] as const] : [],
  );
  return {
    fronts,
    stages: models.map(({ name }) => name),
    ...(calls.length > 0 && { calls: Object.fromEntries(calls) }),
  };
}

/** Simulates the true behaviour of a pipeline with a candidate at a level. */
export function pipelineTruth(pipeline: Pipeline, candidate: Candidate, level: number): Truth {
  const simulation = simulateNetwork(createNetwork(pipeline, candidate, level), {
    warmUpRequests: Math.min(300, 2 * level),
    requests: enoughRequests(REQUESTS, Math.ceil(level / pipeline.fronts.length)),
    seed: SEED,
  });
  const stages = simulation.stages.map(stageTruth);
  const fronts = simulation.fronts.map(({ name, requests, requestsPerSecond, latencyNs }): FrontTruth => {
    const { mean, p50, p90, p95, p99 } = latencyNs;
    const latencyMs = { avg: nsToMs(mean), p50: nsToMs(p50), p90: nsToMs(p90), p95: nsToMs(p95), p99: nsToMs(p99) };
    return { model: name, requests, throughput: requestsPerSecond, latencyMs };
  });
  const [only, ...others] = fronts;
  const whole = only && others.length === 0 ? only : together(simulation);
  return {
    throughput: whole.throughput,
    latencyMs: whole.latencyMs,
    queueUs: 0,
    computeUs: 0,
    batches: [],
    requests: fronts.reduce((sum, { requests }) => sum + requests, 0),
    stages,
    ...(fronts.length > 1 && { fronts }),
  };
}

function createNetwork(pipeline: Pipeline, candidate: Candidate, level: number): Network {
  const { models, devices, fronts, roundTripMs, frontEndUs } = pipeline;
  const levels = frontLevels({ fronts }, { mode: 'concurrency' as const, value: level } as const);
  return {
    stages: models.map((model) => findStage(model, candidate)),
    devices,
    fronts: fronts.map(({ model, steps }, index): Front => {
      const { mode, value } = levels[index] as { mode: string; value: number };
      const roundTripNs = roundTripMs * NS_PER_MS;
      return {
        name: model,
        steps,
        frontEndNs: frontEndUs * NS_PER_US,
        traffic:
          mode === 'concurrency'
            ? { kind: 'closed', concurrency: value, roundTripNs }
            : { kind: 'rate', perSecond: value, distribution: 'constant', roundTripNs },
      };
    }),
  };
}

/** Idle instances use part of the machine too, which a law in busy instances cannot express. */
function findStage({ name, law, cores, device, calls }: PipelineModel, { shape }: Candidate): Stage {
  const policy = shape.members?.[name]?.policy ?? shape.policy;
  const longer = Math.max(1, policy.instances / cores);
  const points = law.points.map((point) => ({ ...point, executionNs: point.executionNs * longer }));
  return {
    name,
    policy,
    law: { ...law, points },
    ...(device && { device }),
    ...(calls && {
      calls: calls.map(({ model, perSample, inParallel }) => ({
        steps: [{ stage: model }],
        inParallel,
        ...(perSample !== undefined && { requestsPerSample: perSample }),
      })),
    }),
  };
}

function stageTruth({ name, requests, queueNs, computeNs, executions, executionNs }: StageFigures): StageTruth {
  const batches = [...executions.entries()]
    .filter(([, count]) => count > 0)
    .map(([size, count]) => ({
      size,
      executions: count,
      meanExecutionUs: (executionNs[size] as number) / count / NS_PER_US,
    }));
  return { model: name, requests, queueUs: queueNs / NS_PER_US, computeUs: computeNs / NS_PER_US, batches };
}

function together({ fronts }: NetworkSimulation): Pick<Truth, 'throughput' | 'latencyMs'> {
  const all = allFronts(fronts);
  const at = (share: number): number => nsToMs(all.quantileNs(share));
  return {
    throughput: all.requestsPerSecond,
    latencyMs: { avg: nsToMs(all.meanNs), p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99) },
  };
}
