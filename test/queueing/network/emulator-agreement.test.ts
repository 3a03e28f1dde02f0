import { describe, expect, it, onTestFinished } from 'vitest';
import { type EmulatorProfile, emulatorSchema } from '#emulator/profile/schema.ts';
import { toLaw } from '#emulator/profile/simulators.ts';
import { toPolicy } from '#queueing/batcher-policy.ts';
import { stepsByTensors } from '#queueing/network/plan.ts';
import type { Network } from '#queueing/network/types.ts';
import { ensembleSteps } from '#triton/config/ensemble-rules.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { fp32Input, inferMessage } from '../../support/infer-clients.ts';
import { openVirtualEmulator } from '../../support/virtual-emulator.ts';
import { closed, relative, run } from './builders.ts';

const tensors = (inputs: readonly string[], outputs: readonly string[]) => ({
  input: inputs.map((name) => ({ name, data_type: 'TYPE_FP32', dims: [4] })),
  output: outputs.map((name) => ({ name, data_type: 'TYPE_FP32', dims: [4] })),
});

interface Member {
  readonly name: string;
  readonly inputs?: readonly string[];
  readonly outputs?: readonly string[];
  readonly instances: number;
  readonly ms: readonly [number, number];
  readonly config: object;
}

interface EnsembleStep {
  readonly model: string;
  readonly in: object;
  readonly out: object;
}

function profileOf(members: readonly Member[], steps: readonly EnsembleStep[]): EmulatorProfile {
  const load = { full_s: 0, add_s: 0, remove_s: 0 };
  return emulatorSchema.parse({
    name: 'pipeline',
    description: 'for tests',
    source: 'synthetic',
    device: { kind: 'cpu', name: 'CPU', memory_mib: 1000 },
    models: members.map(({ name, inputs = ['IN'], outputs = ['OUT'], instances, ms, config }) => ({
      config: {
        name,
        backend: 'python',
        max_batch_size: 8,
        ...tensors(inputs, outputs),
        ...config,
        instance_group: [{ count: instances, kind: 'KIND_CPU' }],
      },
      law: {
        execution_ms: [
          [1, ms[0]],
          [8, ms[1]],
        ],
        cv: 0.25,
        interference: { per_instance: 0.2 },
      },
      load,
    })),
    ensembles: [
      {
        config: {
          name: 'front',
          platform: 'ensemble',
          max_batch_size: 8,
          ...tensors(['IN'], ['OUT']),
          ensemble_scheduling: {
            step: steps.map((step) => ({
              model_name: step.model,
              model_version: -1,
              input_map: step.in,
              output_map: step.out,
            })),
          },
        },
        load: { full_s: 0 },
      },
    ],
  });
}

/** The same policies and laws, for the simulation. */
function networkOf(profile: EmulatorProfile, concurrency: number): Network {
  const steps = ensembleSteps(profile.ensembles[0]?.config as ModelConfig).map((step) => ({
    stage: step.model_name ?? '',
    needs: Object.values(step.input_map ?? {}),
    gives: Object.values(step.output_map ?? {}),
  }));
  return {
    stages: profile.models.map((model) => {
      const config = model.config as ModelConfig;
      return {
        name: config.name ?? '',
        policy: toPolicy(config, config.instance_group?.[0]?.count ?? 1),
        law: toLaw(model, []),
      };
    }),
    fronts: [closed('front', stepsByTensors(steps, ['IN']), concurrency)],
  };
}

/** What clients in a closed loop see of the emulator's ensemble, in virtual time. */
async function emulated(profile: EmulatorProfile, concurrency: number, requests: number) {
  const emulator = openVirtualEmulator({ profile });
  onTestFinished(() => emulator.close());
  const request = inferMessage('front', [fp32Input([1, 4])]);
  const warmUp = 300;
  let [sent, answered, beganNs, latencyNs] = [0, 0, 0, 0];
  const client = async (): Promise<void> => {
    while (sent++ < warmUp + requests) {
      const startNs = emulator.clock.nowNs();
      expect(await emulator.grpc('ModelInfer', [request])).toMatchObject({ failure: null });
      if (++answered === warmUp) beganNs = emulator.clock.nowNs();
      if (answered > warmUp) latencyNs += emulator.clock.nowNs() - startNs;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, client));
  return { requestsPerSecond: (requests * 1e9) / (emulator.clock.nowNs() - beganNs), meanNs: latencyNs / requests };
}

const first: Member = { name: 'first', instances: 1, ms: [1, 3], config: { dynamic_batching: {} } };
const last: Member = {
  name: 'last',
  instances: 2,
  ms: [3, 9],
  config: { dynamic_batching: { max_queue_delay_microseconds: 2000 } },
};
const chain: [Member[], EnsembleStep[]] = [
  [first, last],
  [
    { model: 'first', in: { IN: 'IN' }, out: { OUT: 'between' } },
    { model: 'last', in: { IN: 'between' }, out: { OUT: 'OUT' } },
  ],
];
const diamond: [Member[], EnsembleStep[]] = [
  [
    first,
    {
      name: 'left',
      instances: 2,
      ms: [2, 8],
      config: { dynamic_batching: { preferred_batch_size: [4], max_queue_delay_microseconds: 1000 } },
    },
    { name: 'right', instances: 3, ms: [4, 30], config: {} },
    { ...last, inputs: ['L', 'R'] },
  ],
  [
    { model: 'last', in: { L: 'l', R: 'r' }, out: { OUT: 'OUT' } },
    { model: 'first', in: { IN: 'IN' }, out: { OUT: 'x' } },
    { model: 'left', in: { IN: 'x' }, out: { OUT: 'l' } },
    { model: 'right', in: { IN: 'x' }, out: { OUT: 'r' } },
  ],
];

describe.each([
  ['chain', chain],
  ['diamond', diamond],
] as const)('an emulated ensemble: a %s', (_, [members, steps]) => {
  it.each([1, 4, 24])('has the throughput and the latency of the simulation with %d in flight', async (concurrency) => {
    const profile = profileOf(members, steps);
    const truth = await emulated(profile, concurrency, 3000);
    const { fronts } = run(networkOf(profile, concurrency), { warmUpRequests: 300, requests: 3000 });
    expect(relative(fronts[0]?.requestsPerSecond as number, truth.requestsPerSecond)).toBeLessThan(0.03);
    expect(relative(fronts[0]?.latencyNs.mean as number, truth.meanNs)).toBeLessThan(0.03);
  });
});
