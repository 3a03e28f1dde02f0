import { describe, expect, it, onTestFinished } from 'vitest';
import { emulatorSchema } from '#emulator/profile/schema.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { VirtualCalls } from '../support/virtual-calls.ts';

interface Tenant {
  readonly ms: number;
  readonly share?: number;
  readonly count?: number;
  readonly kind?: string;
  readonly instanceMib?: number;
}

/** Models named a, b, … on one GPU of 1000 MiB. */
function open(tenants: readonly Tenant[]): VirtualCalls {
  const tensor = (name: string) => [{ name, data_type: 'TYPE_FP32', dims: [4] }];
  const models = tenants.map(({ ms, share = 0, count = 1, kind = 'KIND_GPU', instanceMib = 100 }, index) => ({
    config: {
      name: 'abc'[index],
      backend: 'python',
      max_batch_size: 8,
      input: tensor('IN'),
      output: tensor('OUT'),
      instance_group: [{ count, kind }],
    },
    law: { execution_ms: [[1, ms]], device_share: share },
    memory: { model_mib: 0, instance_mib: instanceMib, sample_mib: 0 },
    load: { full_s: 0.02, add_s: 0.01, remove_s: 0.01 },
  }));
  const profile = emulatorSchema.parse({
    name: 'tenants',
    description: 'for tests',
    source: 'synthetic',
    models,
    device: { kind: 'gpu', name: 'GPU', memory_mib: 1000, power_w: { idle: 10, busy: 110 } },
  });
  const calls = new VirtualCalls({ profile });
  onTestFinished(() => calls.close());
  return calls;
}

/** When one request to each model ends, all sent at once, in milliseconds. */
async function endsMs(calls: VirtualCalls, models: readonly string[]): Promise<number[]> {
  const answers = await Promise.all(models.map((model) => calls.infer(model)));
  return answers.map(({ endedMs, sentMs }) => Math.round((endedMs - sentMs) * 1e3) / 1e3);
}

describe('executions of models that share a device', () => {
  it.each<[string, Tenant[], number[]]>([
    [
      'as long as alone while the device holds both',
      [
        { ms: 10, share: 0.5 },
        { ms: 10, share: 0.5 },
      ],
      [10, 10],
    ],
    [
      'twice as long when each wants all of it',
      [
        { ms: 10, share: 1 },
        { ms: 10, share: 1 },
      ],
      [20, 20],
    ],
    // Both at half speed until the short one ends at 8 ms with 4 ms of the long one done; that has
    // 6 ms left.
    [
      'as long as alone once the other has ended',
      [
        { ms: 10, share: 1 },
        { ms: 4, share: 1 },
      ],
      [14, 8],
    ],
    // At 1 / 1.3 until 4 ms × 1.3 = 5.2 ms; the long one has 6 ms left then.
    [
      'longer by what is asked for beyond the whole',
      [
        { ms: 10, share: 0.8 },
        { ms: 4, share: 0.5 },
      ],
      [11.2, 5.2],
    ],
    ['as long as alone with a share of 0', [{ ms: 10, share: 1 }, { ms: 10 }], [10, 10]],
    [
      'as long as alone on the CPU',
      [
        { ms: 10, share: 1 },
        { ms: 10, share: 1, kind: 'KIND_CPU' },
      ],
      [10, 10],
    ],
    [
      'three times as long when three want all of it',
      [
        { ms: 5, share: 1 },
        { ms: 5, share: 1 },
        { ms: 5, share: 1 },
      ],
      [15, 15, 15],
    ],
  ])('take %s', async (_, tenants, ms) => {
    const calls = open(tenants);
    expect(
      await endsMs(
        calls,
        tenants.map((__, index) => 'abc'[index] as string),
      ),
    ).toEqual(ms);
  });

  it('ask for no more than the whole as one model, whose own law says what its instances cost each other', async () => {
    const calls = open([
      { ms: 10, share: 1, count: 2 },
      { ms: 10, share: 1 },
    ]);
    expect(await endsMs(calls, ['a', 'a'])).toEqual([10, 10]);
    expect(await endsMs(calls, ['a', 'a', 'b'])).toEqual([20, 20, 20]);
    const { inferMs } = await calls.statistics('b');
    expect(inferMs).toBeCloseTo(20, 6);
  });
});

describe('the memory of a GPU that models share', () => {
  it('is one pool: what does not fit beside the others is refused', async () => {
    const calls = open([
      { ms: 1, instanceMib: 300 },
      { ms: 1, instanceMib: 300 },
    ]);
    const config = await calls.config('a');
    const instances = (count: number, kind = 'KIND_GPU') =>
      calls.load('a', { ...config, instance_group: [{ count, kind }] as ModelConfig['instance_group'] & object });
    expect(await instances(2)).toBe('');
    expect(await instances(3)).toContain('out of memory: failed to allocate 900 MiB for 3 instances (200 MiB too few');
    expect((await calls.infer('a')).message).toBe('');
    // Instances on the CPU need none of it.
    expect(await instances(3, 'KIND_CPU')).toBe('');
    expect(await instances(2)).toBe('');
    await calls.unload('b');
    await expect.poll(() => instances(3)).toBe('');
  });
});
