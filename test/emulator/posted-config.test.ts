import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readPostedConfig } from '#emulator/profile/posted-config.ts';
import { place } from '#emulator/scheduling/placement.ts';
import { ProtocolFailure } from '#emulator/wire/protocol-failure.ts';
import { createBatcher } from '#queueing/batcher.ts';
import { toPolicy } from '#queueing/batcher-policy.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';

const tensor = { data_type: 'TYPE_FP32', dims: [4] };
const stored: ModelConfig = {
  name: 'm',
  backend: 'python',
  max_batch_size: 8,
  input: [{ name: 'IN', ...tensor }],
  output: [{ name: 'OUT', ...tensor }],
};

const number = fc.integer({ min: -2, max: 12 });
const batching = fc.record(
  {
    preferred_batch_size: fc.array(number, { maxLength: 3 }),
    max_queue_delay_microseconds: fc.oneof(fc.nat(5000), fc.constant('18446744073709551615')),
    default_queue_policy: fc.record({ max_queue_size: fc.nat(2) }),
  },
  { requiredKeys: [] },
);
const posted = fc.record({ max_batch_size: number, dynamic_batching: batching }, { requiredKeys: [] });

it('lets no config through that no batcher can run with, and refuses the others as Triton does', () => {
  let accepted = 0;
  fc.assert(
    fc.property(posted, number, (change, count) => {
      const json = JSON.stringify({ ...stored, ...change, instance_group: [{ count, kind: 'KIND_CPU' }] });
      let config: ModelConfig;
      try {
        config = readPostedConfig({ name: 'm', stored }, json);
      } catch (error) {
        expect(error).toBeInstanceOf(ProtocolFailure);
        expect(error).toMatchObject({
          status: 'INTERNAL',
          message: "failed to load 'm', failed to poll from model repository",
        });
        return;
      }
      const { instances } = place('m', config, { gpus: 0 });
      expect(createBatcher(toPolicy(config, instances)).busyInstances).toBe(0);
      accepted += 1;
    }),
    { seed: 5, numRuns: 500 },
  );
  expect(accepted).toBeGreaterThan(50);
});

it.each([
  ['lowered below a preferred size', { max_batch_size: 4, dynamic_batching: { preferred_batch_size: [8] } }],
  ['of a model without batches', { max_batch_size: 0, dynamic_batching: { preferred_batch_size: [1] } }],
  ['left out', { max_batch_size: undefined, dynamic_batching: { preferred_batch_size: [1] } }],
])('refuses a preferred size above a max_batch_size that is %s', (_, change) => {
  const read = () => readPostedConfig({ name: 'm', stored }, JSON.stringify({ ...stored, ...change }));
  expect(read).toThrow(expect.objectContaining({ status: 'INTERNAL' }));
});
