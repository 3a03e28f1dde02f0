import { describe, expect, it } from 'vitest';
import { pruneReason } from '#study/search/pruning.ts';
import { configOf, failedTrial, measured, toCandidate, trialOf } from './builders.ts';

const at = (instances: number, batch: number, more = {}) => toCandidate(configOf(instances, batch, more));

describe('pruning', () => {
  it('lets everything through when nothing failed', () => {
    expect(pruneReason(at(9, 99), [trialOf(0, configOf(1, 4))])).toBeNull();
  });

  it('after out of memory: what has as many instances and as large a batch, and names the trial', () => {
    const trials = [trialOf(0, configOf(1, 4)), failedTrial(3, configOf(3, 8), 'out-of-memory')];
    expect(pruneReason(at(3, 16), trials)).toMatch(/memory.*trial 3/);
    expect(pruneReason(at(4, 8), trials)).not.toBeNull();
    expect(pruneReason(at(2, 16), trials)).toBeNull();
    expect(pruneReason(at(4, 4), trials)).toBeNull();
  });

  it('does not carry over to another precision, place or parameter, but does to another way of queueing', () => {
    const trials = [failedTrial(1, configOf(3, 8), 'out-of-memory')];
    expect(pruneReason(at(3, 8, { parameters: { threads: { string_value: '2' } } }), trials)).toBeNull();
    expect(pruneReason(at(3, 8, { instance_group: [{ kind: 'KIND_GPU', count: 4, gpus: [0] }] }), trials)).toBeNull();
    const queueing = at(3, 8, { dynamic_batching: { max_queue_delay_microseconds: 100 } });
    expect(pruneReason(queueing, trials)).not.toBeNull();
  });

  it('after a refused start: puts it down to instances once fewer of them were seen to load', () => {
    const refused = failedTrial(2, configOf(3, 4), 'init-failed');
    expect(pruneReason(at(4, 4), [refused])).toBeNull();
    const trials = [trialOf(0, configOf(1, 4)), refused];
    expect(pruneReason(at(3, 2), trials)).toMatch(/instances.*trial 2/);
    expect(pruneReason(at(4, 16), trials)).not.toBeNull();
    expect(pruneReason(at(2, 4), trials)).toBeNull();
  });

  it('after a refused start with a larger batch too: prunes only what is heavier in both', () => {
    const trials = [trialOf(0, configOf(1, 4)), failedTrial(2, configOf(3, 8), 'init-failed')];
    expect(pruneReason(at(3, 8), trials)).not.toBeNull();
    expect(pruneReason(at(3, 4), trials)).toBeNull();
  });

  it.each(['init-failed', 'invalid-config'] as const)(
    'after %s with a new setting: whatever has that setting',
    (kind) => {
      const openvino = {
        optimization: { execution_accelerators: { cpu_execution_accelerator: [{ name: 'openvino' }] } },
      };
      const threads = { parameters: { threads: { string_value: '2' } } };
      const trials = [trialOf(0, configOf(2, 8)), failedTrial(1, configOf(1, 8, openvino), kind)];
      expect(pruneReason(at(1, 4, openvino), trials)).toMatch(/refused in trial 1/);
      expect(pruneReason(at(4, 4, { ...openvino, ...threads }), trials)).toMatch(/trial 1/);
      expect(pruneReason(at(1, 4, threads), trials)).toBeNull();
      const both = [trialOf(0, configOf(2, 8)), failedTrial(1, configOf(1, 8, { ...openvino, ...threads }), kind)];
      expect(pruneReason(at(1, 4, threads), both)).toBeNull();
      expect(pruneReason(at(1, 4, { ...openvino, ...threads }), both)).not.toBeNull();
      const failed = failedTrial(1, configOf(4, 8, { ...openvino, ...threads }), kind);
      const named = { kind, reason: "Invalid argument: unknown Execution Accelerator 'openvino' is requested" };
      expect(
        pruneReason(at(1, 4, openvino), [trialOf(0, configOf(2, 8)), { ...failed, failure: named }]),
      ).not.toBeNull();
      const more = [trialOf(0, configOf(2, 8)), failedTrial(1, configOf(4, 8, openvino), kind)];
      expect(pruneReason(at(1, 8, openvino), more)).toBeNull();
    },
  );

  it('after an invalid config: that config only', () => {
    const trials = [failedTrial(1, configOf(3, 8), 'invalid-config')];
    expect(pruneReason(at(3, 8), trials)).toMatch(/trial 1/);
    expect(pruneReason(at(4, 8), trials)).toBeNull();
  });

  it('without a GPU: whatever asks for the same one', () => {
    const gpu = (count: number) => ({ instance_group: [{ kind: 'KIND_GPU' as const, count, gpus: [0] }] });
    const trials = [failedTrial(1, configOf(1, 8, gpu(1)), 'no-gpu')];
    expect(pruneReason(at(2, 4, gpu(2)), trials)).toMatch(/GPU.*trial 1/);
    expect(pruneReason(at(2, 4), trials)).toBeNull();
  });

  it('after a failed build, a refused upload or inaccurate outputs: all that is made of the same', () => {
    const madeOf = (key: string, instances: number) => {
      const plain = at(instances, 8, { parameters: { tritune_variant: { string_value: key } } });
      return { ...plain, shape: { ...plain.shape, preparation: { key, name: key, seconds: 9 } } };
    };
    for (const kind of ['build-failed', 'upload-refused', 'inaccurate'] as const) {
      const failed = { ...failedTrial(2, configOf(1, 4), kind), candidate: madeOf('int8', 1) };
      expect(pruneReason(madeOf('int8', 3), [failed])).toMatch(/trial 2/);
      expect(pruneReason(madeOf('fp32', 1), [failed])).toBeNull();
      expect(pruneReason(at(1, 4), [failed])).toBeNull();
    }
  });

  it('after inaccurate outputs of a setting: whatever has the same settings', () => {
    const trials = [
      failedTrial(1, configOf(1, 4, { parameters: { precision: { string_value: 'FP16' } } }), 'inaccurate'),
    ];
    expect(pruneReason(at(3, 8, { parameters: { precision: { string_value: 'FP16' } } }), trials)).toMatch(/trial 1/);
    expect(pruneReason(at(3, 8), trials)).toBeNull();
  });

  it('concludes nothing from a timeout or a lost server', () => {
    for (const kind of ['load-timeout', 'server-lost', 'requests-failed', 'config-mismatch'] as const) {
      expect(pruneReason(at(3, 8), [trialOf(0, configOf(1, 4)), failedTrial(1, configOf(3, 8), kind)])).toBeNull();
    }
  });
});

describe('pruning by GPU memory', () => {
  const onGpu = { instance_group: [{ kind: 'KIND_GPU' as const, count: 1, gpus: [0] }] };
  const totalBytes = 1000 * 2 ** 20;
  const using = (number: number, instances: number, batch: number, gpuMemoryMiB: number, more = {}) => {
    const device = { gpuMemoryMiB, gpus: [{ uuid: 'GPU-1', memoryTotalBytes: totalBytes }] };
    return trialOf(number, configOf(instances, batch, more), { measurements: [measured(8, 100, 5, { device })] });
  };
  const seen = [using(0, 1, 4, 300), using(2, 2, 4, 520)];

  it('rules out what needs more than there is, by what an instance took, and names the trials', () => {
    expect(pruneReason(at(4, 4), seen)).toBeNull();
    expect(pruneReason(at(5, 4), seen)).toBe('needs about 1180 of 1000 MiB of GPU memory, as trials 0 and 2 show');
    expect(pruneReason(at(5, 8), seen)).toMatch(/trials 0 and 2/);
    const queueing = { dynamic_batching: { max_queue_delay_microseconds: 100 } };
    expect(pruneReason(at(5, 4, queueing), seen)).not.toBeNull();
  });

  it('says nothing of smaller batches, of another kind, or from one count of instances', () => {
    expect(pruneReason(at(9, 2), seen)).toBeNull();
    expect(pruneReason(at(9, 4, { parameters: { precision: { string_value: 'fp16' } } }), seen)).toBeNull();
    expect(pruneReason(at(9, 4, onGpu), seen)).toBeNull();
    expect(pruneReason(at(9, 4), [using(0, 1, 4, 900), using(1, 1, 4, 950)])).toBeNull();
    expect(pruneReason(at(9, 8), [using(0, 1, 4, 300), using(1, 2, 8, 900)])).toBeNull();
  });

  it('says nothing where the server does not say how much there is', () => {
    const blind = seen.map((trial) => ({
      ...trial,
      measurements: trial.measurements.map((each) => ({ ...each, device: { gpuMemoryMiB: 990 } })),
    }));
    expect(pruneReason(at(9, 4), blind)).toBeNull();
  });
});
