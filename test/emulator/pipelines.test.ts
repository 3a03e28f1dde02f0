import { describe, expect, it, onTestFinished } from 'vitest';
import { parseProfile } from '#emulator/profile/profiles.ts';
import { type EmulatorProfile, emulatorSchema } from '#emulator/profile/schema.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { VirtualCalls } from '../support/virtual-calls.ts';

const TENSORS = {
  input: [{ name: 'IN', data_type: 'TYPE_FP32', dims: [4] }],
  output: [{ name: 'OUT', data_type: 'TYPE_FP32', dims: [4] }],
};

/** A model on a CPU whose execution takes this long, whatever the batch. */
const model = (name: string, ms: number, more: object = {}, config: object = {}) => ({
  config: { name, backend: 'python', max_batch_size: 8, ...TENSORS, ...config },
  law: { execution_ms: [[1, ms]] },
  load: { full_s: 0.02, add_s: 0.01, remove_s: 0.01 },
  ...more,
});

const step = (model_name: string, reads: string, writes: string) => ({
  model_name,
  model_version: -1,
  input_map: { IN: reads },
  output_map: { OUT: writes },
});

const ensemble = (name: string, steps: readonly object[]) => ({
  config: { name, platform: 'ensemble', max_batch_size: 8, ...TENSORS, ensemble_scheduling: { step: steps } },
});

const profileOf = (models: readonly object[], ensembles: readonly object[] = []): EmulatorProfile =>
  parseProfile(
    JSON.stringify({
      name: 'pipelines',
      description: 'for tests',
      source: 'synthetic',
      models,
      ensembles,
      device: { kind: 'cpu', name: 'CPU', memory_mib: 1000 },
    }),
    'test.yaml',
  );

function open(models: readonly object[], ensembles: readonly object[] = []): VirtualCalls {
  const calls = new VirtualCalls({ profile: profileOf(models, ensembles) });
  onTestFinished(() => calls.close());
  return calls;
}

const tookMs = ({ sentMs, endedMs, message }: Awaited<ReturnType<VirtualCalls['infer']>>): number => {
  expect(message).toBe('');
  return endedMs - sentMs;
};

describe('an ensemble', () => {
  const join = {
    ...model('join', 5),
    config: { ...model('join', 5).config, input: ['LEFT', 'RIGHT'].map((name) => ({ ...TENSORS.input[0], name })) },
  };
  const branched = ensemble('branched', [
    step('first', 'IN', 'a'),
    step('short', 'a', 'b'),
    step('long', 'a', 'c'),
    {
      model_name: 'join',
      model_version: -1,
      input_map: { LEFT: 'b', RIGHT: 'c' },
      output_map: { OUT: 'OUT' },
    },
  ]);
  const parts = [model('first', 10), model('short', 20), model('long', 30), join];

  it('runs its branches side by side, and counts the time of both', async () => {
    const calls = open(parts, [branched]);
    expect(tookMs(await calls.infer('branched', 3))).toBeCloseTo(45, 6);
    const own = await calls.statistics('branched');
    expect(own).toMatchObject({ inferences: 3, executions: 1, succeeded: 1, queueMs: 0 });
    expect(own.inferMs).toBeCloseTo(65, 6);
    expect((await calls.statistics('short')).inferMs).toBeCloseTo(20, 6);
  });

  it('stands inside another, and counts what that sends it', async () => {
    const outer = ensemble('outer', [step('branched', 'IN', 'half'), step('first', 'half', 'OUT')]);
    const calls = open(parts, [branched, outer]);
    expect(tookMs(await calls.infer('outer'))).toBeCloseTo(55, 6);
    const inferMs = await Promise.all(
      ['outer', 'branched', 'first'].map(async (n) => (await calls.statistics(n)).inferMs),
    );
    for (const [index, ms] of [75, 65, 20].entries()) expect(inferMs[index]).toBeCloseTo(ms, 6);
  });

  it('serves as fast as its slowest stage, which an instance more makes faster', async () => {
    const chain = ensemble('chain', [step('a', 'IN', 'x'), step('b', 'x', 'y'), step('c', 'y', 'OUT')]);
    const calls = open([model('a', 4), model('b', 8), model('c', 2)], [chain]);
    // The first leaves after all three stages, then one every 8 ms.
    expect(await calls.closedLoopMs('chain', 8, 100)).toBeCloseTo(4 + 8 * 100 + 2, 3);
    const config: ModelConfig = await calls.config('b');
    await calls.load('b', { ...config, instance_group: [{ count: 2, kind: 'KIND_CPU' }] });
    expect(await calls.closedLoopMs('chain', 8, 100)).toBeCloseTo(4 * 100 + 8 + 2, 3);
  });
});

describe('a BLS model', () => {
  const bls = (stages: readonly object[][], more: object = {}) => model('front', 1, { bls: { stages, ...more } });
  const batching = { dynamic_batching: { max_queue_delay_microseconds: 0 } };
  const called = [model('detect', 10), model('name', 4, {}, batching)];

  it.each([
    ['in one request', { fan_out: 4, send: 'batch' }, 15, 1],
    ['in a request each, which the batcher joins again after the first', { fan_out: 4, send: 'each' }, 19, 2],
    ['one after the other', { fan_out: 4, send: 'each-in-turn' }, 27, 4],
    ['in as many requests as the largest batch asks for', { fan_out: 20, send: 'batch' }, 23, 3],
  ])('fans out %s', async (_, how, ms, executions) => {
    const calls = open([bls([[{ model: 'detect' }], [{ model: 'name', ...how }]]), ...called]);
    expect(tookMs(await calls.infer('front'))).toBeCloseTo(ms, 6);
    expect(await calls.statistics('name')).toMatchObject({ inferences: how.fan_out, executions });
    const own = await calls.statistics('front');
    // Its own compute-infer holds the wait for those that it calls.
    expect(own).toMatchObject({ inferences: 1, executions: 1 });
    expect(own.inferMs).toBeCloseTo(ms, 6);
  });

  it('calls the models of one stage together', async () => {
    const calls = open([bls([[{ model: 'detect' }, { model: 'name' }]]), ...called]);
    expect(tookMs(await calls.infer('front'))).toBeCloseTo(11, 6);
  });

  it('keeps its instance busy meanwhile', async () => {
    const calls = open([bls([[{ model: 'name' }]]), ...called]);
    const [first, second] = await Promise.all([calls.infer('front'), calls.infer('front')]);
    expect([first, second].map(({ endedMs, sentMs }) => Math.round(endedMs - sentMs))).toEqual([5, 10]);
    expect((await calls.statistics('front')).queueMs).toBeCloseTo(5, 6);
  });

  it.each([
    ['in-turn', 9],
    ['together', 5],
  ])('works on the requests of a batch %s', async (requests, ms) => {
    const front = { ...bls([[{ model: 'detect' }]], { requests }), config: { ...bls([]).config, ...batching } };
    const calls = open([front, model('detect', 4, {}, { instance_group: [{ count: 2, kind: 'KIND_CPU' }] })]);
    const [, ...batch] = await Promise.all([1, 2, 3].map(() => calls.infer('front')));
    expect(batch.map(({ endedMs }) => Math.round(endedMs - 5))).toEqual([ms, ms]);
  });

  it('fails with what it calls, though that may be away when it is loaded, and an ensemble counts that twice', async () => {
    const calls = open([bls([[{ model: 'detect' }]]), ...called], [ensemble('over', [step('front', 'IN', 'OUT')])]);
    await calls.unload('detect');
    expect([await calls.isReady('front'), await calls.isReady('over')]).toEqual([true, true]);
    const words =
      "Failed to process the request(s) for model 'front_0_0', message: TritonModelException: Model detect - Error when " +
      "running inference: Failed for execute the inference request. Model 'detect' is not ready.";
    expect((await calls.infer('front')).message).toBe(words);
    expect((await calls.infer('over')).message).toBe(`in ensemble 'over', ${words}`);
    expect(await calls.statistics('front')).toMatchObject({ inferences: 0, executions: 2, succeeded: 0, failed: 2 });
    expect(await calls.statistics('over')).toMatchObject({ inferences: 0, executions: 0, succeeded: 0, failed: 2 });
    await calls.load('detect');
    expect((await calls.infer('front')).message).toBe('');
  });
});

describe('a load of a model in an ensemble', () => {
  async function start() {
    const chain = ensemble('chain', [step('a', 'IN', 'x'), step('b', 'x', 'OUT')]);
    const calls = open(
      [
        model('a', 4),
        model('b', 8, { arms: [{ name: 'no', when: { 'parameters.NO.string_value': '1' }, refuses: 'no memory' }] }),
        model('other', 1),
      ],
      [chain, ensemble('outer', [step('chain', 'IN', 'y'), step('a', 'y', 'OUT')])],
    );
    const config = await calls.config('b');
    const counts = async (): Promise<number[]> => {
      const all = await Promise.all(['outer', 'chain', 'a', 'b'].map((name) => calls.statistics(name)));
      return all.map(({ inferences }) => inferences);
    };
    const ready = () => Promise.all(['outer', 'chain', 'a', 'b'].map((name) => calls.isReady(name)));
    return { calls, config, counts, ready };
  }

  it.each<[string, (config: ModelConfig) => ModelConfig, number]>([
    ['in place', (config) => ({ ...config, instance_group: [{ count: 2, kind: 'KIND_CPU' }] }), 2],
    ['of the same config', (config) => config, 2],
    ['of another config', (config) => ({ ...config, dynamic_batching: {} }), 1],
    ['that is refused', (config) => ({ ...config, parameters: { NO: { string_value: '1' } } }), 2],
  ])('%s starts its statistics again, and those of what contains it; no request fails', async (_, change, counted) => {
    const { calls, config, counts } = await start();
    expect((await calls.infer('outer')).message).toBe('');
    expect(await counts()).toEqual([1, 1, 2, 1]);
    const underWay = calls.infer('outer');
    await calls.load('b', change(config));
    // What was under way ends on the old ensemble, and is counted there.
    expect((await underWay).message).toBe('');
    const [outer, chain, a] = await counts();
    expect([outer, chain, a]).toEqual([0, 0, 4]);
    expect((await counts())[3]).toBe(counted);
  });

  it('does so at every later control call, until the ensemble itself is loaded', async () => {
    const { calls, config, counts } = await start();
    await calls.load('other', await calls.config('other'));
    await calls.infer('outer');
    expect(await counts()).toEqual([1, 1, 2, 1]);
    await calls.load('b', config);
    await calls.infer('outer');
    await calls.load('other');
    expect((await counts()).slice(0, 2)).toEqual([0, 0]);
    await calls.infer('outer');
    expect(await calls.load('nothing')).toContain('failed to load');
    expect((await counts()).slice(0, 2)).toEqual([0, 0]);
    await calls.load('outer');
    await calls.infer('outer');
    await calls.load('other');
    expect((await counts()).slice(0, 2)).toEqual([1, 1]);
  });

  it.each<[string, (config: ModelConfig) => ModelConfig, string]>([
    [
      'takes smaller batches',
      (config) => ({ ...config, max_batch_size: 4 }),
      'ensemble chain allows maximum batch size 8, but it contains model b which only allows maximum batch size to be 4',
    ],
    [
      'has another shape',
      (config) => ({ ...config, input: [{ name: 'IN', data_type: 'TYPE_FP32', dims: [5] }] }),
      'in ensemble chain, ensemble tensor x: inconsistent shape: [-1,4] is inferred from model a while [-1,5] is inferred from model b',
    ],
    [
      'has another type',
      (config) => ({ ...config, input: [{ name: 'IN', data_type: 'TYPE_FP16', dims: [4] }] }),
      'in ensemble chain, ensemble tensor x: inconsistent data type: TYPE_FP32 is inferred from model a while TYPE_FP16 is inferred from model b',
    ],
    [
      'has another output',
      (config) => ({ ...config, output: [{ name: 'OUT2', data_type: 'TYPE_FP32', dims: [4] }] }),
      'in ensemble chain, ensemble tensor OUT is mapped from non-existing output OUT in model b',
    ],
    [
      'wants more',
      (config) => ({ ...config, input: ['IN', 'MORE'].map((name) => ({ name, data_type: 'TYPE_FP32', dims: [4] })) }),
      'in ensemble chain, input MORE in model b is not mapped to any ensemble tensors',
    ],
  ])('that %s succeeds, and the ensembles are away until it fits', async (_, change, words) => {
    const { calls, config, ready } = await start();
    expect(await calls.load('b', change(config))).toBe('');
    expect(await ready()).toEqual([false, false, true, true]);
    expect((await calls.infer('chain')).message).toBe("Request for unknown model: 'chain' has no available versions");
    expect(await calls.load('chain')).toBe(`load failed for model 'chain': ${words}\n`);
    expect(await calls.load('b', config)).toBe('');
    expect(await ready()).toEqual([true, true, true, true]);
  });

  it('brings back what its unloading took away, but not an ensemble that was unloaded itself', async () => {
    const { calls, config, ready } = await start();
    await calls.unload('b');
    expect(await ready()).toEqual([false, false, true, false]);
    expect(await calls.load('b', { ...config, parameters: { NO: { string_value: '1' } } })).toContain('no memory');
    expect(await ready()).toEqual([false, false, true, false]);
    await calls.load('b', config);
    expect(await ready()).toEqual([true, true, true, true]);
    await calls.load('chain', { ...(await calls.config('chain')), max_batch_size: 4 });
    // The outer one takes batches of 8.
    expect(await ready()).toEqual([false, true, true, true]);
    await calls.unload('b');
    await calls.load('b', config);
    expect((await calls.config('chain')).max_batch_size).toBe(4);
    await calls.unload('chain');
    await calls.load('b', config);
    expect(await ready()).toEqual([false, false, true, true]);
    await calls.load('outer');
    expect(await ready()).toEqual([true, true, true, true]);
  });
});

describe('a profile is refused', () => {
  it.each<[string, () => EmulatorProfile, RegExp]>([
    [
      'when a BLS model calls nobody that there is',
      () => profileOf([model('a', 1, { bls: { stages: [[{ model: 'b' }]] } })]),
      /models\.0\.bls: 'b' is not another model/,
    ],
    [
      'when requests would go round',
      () =>
        profileOf(
          [model('a', 1, { bls: { stages: [[{ model: 'chain' }]] } })],
          [ensemble('chain', [step('a', 'IN', 'OUT')])],
        ),
      /models\.0\.bls: requests to 'a' would come back to it/,
    ],
    [
      'when an ensemble takes larger batches than its models',
      () => profileOf([model('a', 1, {}, { max_batch_size: 4 })], [ensemble('chain', [step('a', 'IN', 'OUT')])]),
      /ensembles\.0\.config: .*only allows maximum batch size to be 4/,
    ],
  ])('%s', (_, read, words) => {
    expect(read).toThrow(words);
  });

  it('knows what an ensemble is loaded with', async () => {
    const profile = profileOf(
      [model('a', 1), model('b', 1)],
      [ensemble('chain', [step('a', 'IN', 'OUT')]), ensemble('outer', [step('chain', 'IN', 'OUT')])],
    );
    const calls = new VirtualCalls({ profile: emulatorSchema.parse(profile), loadAtStart: ['outer'] });
    onTestFinished(() => calls.close());
    expect(await Promise.all(['outer', 'chain', 'a', 'b'].map((name) => calls.isReady(name)))).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });
});
