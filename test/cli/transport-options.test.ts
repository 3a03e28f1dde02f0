import { describe, expect, it } from 'vitest';
import { toTransportOptions } from '#app/traffic/open-traffic.ts';
import { openSharedRegions } from '#app/traffic/shared-memory.ts';
import type { SharedMemory } from '#triton/types.ts';

describe('the options of transports', () => {
  const decoupled = { name: 'm', model_transaction_policy: { decoupled: true } };

  it('pass on what is not the default', () => {
    expect(toTransportOptions({ compression: 'none', tensorFormat: 'binary' }, { name: 'm' })).toEqual({
      streaming: undefined,
      compression: undefined,
      tensorFormat: 'binary',
    });
    expect(toTransportOptions({ compression: 'gzip', streaming: true }, decoupled)).toMatchObject({
      streaming: true,
      compression: 'gzip',
    });
  });

  it('mean nothing new for a study whose journal does not have them', () => {
    expect(toTransportOptions({}, { name: 'm' })).toMatchObject({ compression: undefined });
  });

  it('want shared memory of the machine, none, or of a device, which there is not', async () => {
    const plan = { inputs: [{ requests: [], mostBatch: 1, values: [] }], config: {}, maxInFlight: 1 };
    const control = {} as SharedMemory;
    expect(await openSharedRegions({}, control, plan)).toBeUndefined();
    expect(await openSharedRegions({ sharedMemory: 'none' }, control, plan)).toBeUndefined();
    await expect(openSharedRegions({ sharedMemory: 'cuda' }, control, plan)).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining('CUDA'),
      hint: expect.stringContaining('--shared-memory system'),
    });
  });

  it('refuse a decoupled model without streams', () => {
    expect(() => toTransportOptions({}, decoupled)).toThrow(
      expect.objectContaining({ code: 'USAGE', hint: expect.stringContaining('--streaming') }),
    );
  });
});
