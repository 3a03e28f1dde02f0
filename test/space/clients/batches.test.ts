import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildCandidate } from '#space/candidate.ts';
import { servingClients } from '#space/client-batches.ts';
import { clientChanges } from '#space/client-changes.ts';
import { assignments } from '#space/enumerate.ts';
import { toModelConfig, toOriginal } from '#space/model-configs.ts';
import { mostPlaces } from '#space/most-places.ts';
import { loadSpace, spaceFromJson, spaceToJson } from '#space/source/load.ts';
import type { SearchSpace } from '#space/types.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { spaceOf } from '../fixtures.ts';

const config = (more: ModelConfig = {}): ModelConfig => ({
  name: 'm',
  backend: 'python',
  max_batch_size: 16,
  instance_group: [{ count: 1, kind: 'KIND_CPU' }],
  ...more,
});

function configsIn(space: SearchSpace, original: ModelConfig): ModelConfig[] {
  const base = toOriginal(original);
  return [...assignments(space, base)].map((assignment) => {
    const built = buildCandidate(space, base, assignment);
    if (!built.legal) throw new Error(built.reason);
    return toModelConfig(built.candidate);
  });
}

const largest = (configs: readonly ModelConfig[]): number[] =>
  [...new Set(configs.map(({ max_batch_size = 0 }) => max_batch_size))].sort((a, b) => a - b);

describe('a space that serves clients', () => {
  it('has no smaller batch than the original, and no other one where the server forms none', () => {
    const { space, leftOut } = servingClients(loadSpace('python'), config(), { largest: 16, basis: 'config' });
    expect(leftOut).toEqual([1, 2, 4, 8]);
    const configs = configsIn(space, config());
    expect(largest(configs)).toEqual([16, 32, 64, 128, 256, 512, 1024]);
    expect(largest(configs.filter(({ dynamic_batching }) => !dynamic_batching))).toEqual([16]);
    expect(buildCandidate(space, toOriginal(config()), { max_batch_size: 8 })).toMatchObject({ legal: false });
    // A search may still need levels for the largest batches.
    expect(mostPlaces(space, toOriginal(config()))).toBe(1024 * 8);
    expect(spaceFromJson(spaceToJson(space)).rules).toEqual(space.rules);
  });

  it('goes down to what clients send', () => {
    const { space, leftOut } = servingClients(loadSpace('python'), config(), { largest: 4, basis: 'option' });
    expect(leftOut).toEqual([1, 2]);
    const configs = configsIn(space, config());
    expect(largest(configs)[0]).toBe(4);
    expect(largest(configs.filter(({ dynamic_batching }) => !dynamic_batching))).toEqual([16]);
  });

  it('has the original size among computed values, and listed ones as they are', () => {
    const odd = config({ max_batch_size: 6 });
    const preset = servingClients(loadSpace('python'), odd, { largest: 6, basis: 'config' }).space;
    expect(largest(configsIn(preset, odd)).slice(0, 2)).toEqual([6, 8]);
    const listed = (values: string) =>
      servingClients(spaceOf(`parameters: { max_batch_size: [${values}], instances: [1, 2] }`), config(), {
        largest: 16,
        basis: 'config',
      });
    expect(largest(configsIn(listed('8, 32').space, config()))).toEqual([32]);
    expect(listed('1, 2').leftOut).toEqual([1, 2]);
    expect(largest(configsIn(listed('1, 2').space, config()))).toEqual([16]);
  });

  it('keeps the batcher where clients rely on its queue', () => {
    const queued = config({ dynamic_batching: { priority_levels: 2, default_priority_level: 1 } });
    const { space } = servingClients(loadSpace('python'), queued, { largest: 16, basis: 'config' });
    const configs = configsIn(space, queued);
    expect(configs.length).toBeGreaterThan(20);
    expect(configs.every(({ dynamic_batching: batching }) => batching?.priority_levels === 2)).toBe(true);
  });

  it('leaves alone a model without batches', () => {
    const plain = config({ max_batch_size: 0 });
    const space = loadSpace('python');
    expect(servingClients(space, plain, { largest: 0, basis: 'config' })).toEqual({ space, leftOut: [] });
  });

  it('breaks no client, whatever the original is', () => {
    const originals = fc.record({
      max_batch_size: fc.integer({ min: 1, max: 300 }),
      dynamic_batching: fc.constantFrom<NonNullable<ModelConfig['dynamic_batching']> | undefined>(
        ...[undefined, {}, { preserve_ordering: true }, { default_queue_policy: { max_queue_size: 9 } }],
        ...[{ priority_levels: 2, default_priority_level: 1 }],
      ),
    });
    fc.assert(
      fc.property(originals, ({ max_batch_size, dynamic_batching }) => {
        const original = config({ max_batch_size, ...(dynamic_batching && { dynamic_batching }) });
        const { space } = servingClients(loadSpace('python'), original, { largest: max_batch_size, basis: 'config' });
        const configs = configsIn(space, original);
        expect(configs.length).toBeGreaterThan(0);
        for (const each of configs) expect(clientChanges(toOriginal(original), toOriginal(each))).toEqual([]);
      }),
      { numRuns: 15 },
    );
  });
});
