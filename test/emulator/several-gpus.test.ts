import { describe, expect, it, onTestFinished } from 'vitest';
import { loadProfile } from '#emulator/profile/profiles.ts';
import { emulatorSchema } from '#emulator/profile/schema.ts';
import { DeviceMemory } from '#emulator/scheduling/device.ts';
import { place } from '#emulator/scheduling/placement.ts';
import { VirtualCalls } from '../support/virtual-calls.ts';
import { VirtualServer } from '../support/virtual-server.ts';

/**
 * A model on a server with two GPUs; a second instance that is busy on the same GPU doubles its
 * executions.
 */
function open(instanceGroup: readonly object[], atOnce?: number): VirtualCalls {
  const tensor = (name: string) => [{ name, data_type: 'TYPE_FP32', dims: [4] }];
  const model = {
    config: {
      name: 'm',
      backend: 'python',
      max_batch_size: 1,
      input: tensor('IN'),
      output: tensor('OUT'),
      instance_group: instanceGroup,
    },
    law: {
      execution_ms: [[1, 10]],
      interference: { per_instance: 1 },
      ...(atOnce !== undefined && { at_once: atOnce }),
    },
    load: { full_s: 0, add_s: 0, remove_s: 0 },
  };
  const profile = emulatorSchema.parse({
    name: 'two',
    description: 'for tests',
    source: 'synthetic',
    models: [model],
    device: { kind: 'gpu', name: 'GPU', count: 2, memory_mib: 1000, power_w: { idle: 10, busy: 110 } },
  });
  const calls = new VirtualCalls({ profile });
  onTestFinished(() => calls.close());
  return calls;
}

/** When so many requests, all sent at once, end, in milliseconds. */
async function endsMs(calls: VirtualCalls, count: number): Promise<readonly number[]> {
  const answers = await Promise.all(Array.from({ length: count }, () => calls.infer('m')));
  return answers.map(({ endedMs, sentMs }) => Math.round(endedMs - sentMs)).sort((a, b) => a - b);
}

const on = (gpus: readonly number[], count = 1) => ({ kind: 'KIND_GPU', count, gpus: [...gpus] });

describe('a server with several GPUs', () => {
  it('lets only instances of one GPU slow each other', async () => {
    expect(await endsMs(open([on([0], 2)]), 2)).toEqual([10, 20]);
    expect(await endsMs(open([on([0, 1])]), 2)).toEqual([10, 10]);
    expect(await endsMs(open([on([0]), on([1])]), 2)).toEqual([10, 10]);
    expect(await endsMs(open([{ kind: 'KIND_GPU', count: 1 }]), 2)).toEqual([10, 10]);
  });

  it('executes on each GPU as much at once as the law lets', async () => {
    expect(await endsMs(open([on([0], 3)], 1), 2)).toEqual([10, 20]);
    expect(await endsMs(open([on([0, 1], 3)], 1), 4)).toEqual([10, 10, 20, 20]);
  });

  it('places an instance on each GPU of a group before the second ones, and refuses GPUs that it lacks', () => {
    const countGpus = (groups: readonly object[]) =>
      place('m', { name: 'm', instance_group: groups as never }, { gpus: 2 }).gpuOf;
    expect(countGpus([on([0, 1], 2)])).toEqual([0, 1, 0, 1]);
    expect(countGpus([{ kind: 'KIND_CPU', count: 2 }, on([1])])).toEqual([null, null, 1]);
    expect(() => countGpus([on([2])])).toThrowError(/invalid or unsupported gpu id 2/);
    expect(() => countGpus([{ kind: 'KIND_CPU', gpus: [0] }])).toThrowError(/KIND_CPU but specifies/);
  });

  it('has the memory of each GPU apart', () => {
    const device = new DeviceMemory(1000, 2);
    const [a, b] = [{}, {}];
    expect(device.reserve(a, [900, 0], { isBeside: false }).missingMib).toBe(0);
    expect(device.reserve(b, [200, 0], { isBeside: false }).missingMib).toBe(100);
    expect(device.reserve(b, [0, 200], { isBeside: false }).missingMib).toBe(0);
    expect([device.usedMib(0), device.usedMib(1), device.heldMib(b)]).toEqual([900, 200, [0, 200]]);
  });

  it('serves with the profile four-gpus about as much more as it has more GPUs', () => {
    const server = new VirtualServer(loadProfile('four-gpus'));
    const served = (gpus: readonly number[], concurrency: number): number =>
      server.measure({ ...server.original, instance_group: [on(gpus, 2) as never] }, concurrency).throughput.value;
    const one = served([0], 64);
    expect(served([0, 1], 128) / one).toBeGreaterThan(1.9);
    expect(served([0, 1, 2, 3], 256) / one).toBeGreaterThan(3.8);
    expect(served([0, 1, 2, 3], 256) / one).toBeLessThan(4.2);
  });
});
