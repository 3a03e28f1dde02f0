import { describe, expect, it } from 'vitest';
import { manualSampler } from '#study/search/samplers/manual.ts';
import { type SamplerDefinition, samplerKind, samplerNames } from '#study/search/samplers/registry.ts';
import { samplerConformance } from '#testing/sampler-conformance.ts';
import { sampler as walk } from '../../examples/sampler.ts';

/** The manual sampler tries a list, which only this test gives it. */
const manual: SamplerDefinition = {
  name: 'manual',
  create: (space) => manualSampler(space, [...space.assignments()].reverse()),
};
const named = samplerNames.map((name) => (name === 'manual' ? manual : samplerKind(name)));

describe.each([...named, walk].map((each) => [each.name, each] as const))('%s, as every sampler', (_, definition) => {
  for (const { name, run } of samplerConformance(definition)) it(name, run, 60_000);
});

/** The names of the checks that a sampler with these answers fails. */
async function failedBy(ask: ReturnType<SamplerDefinition['create']>['ask']): Promise<readonly string[]> {
  const failed: string[] = [];
  for (const { name, run } of samplerConformance({ name: 'broken', create: () => ({ ask }) }))
    await run().catch(() => failed.push(name));
  return failed;
}

const first = { max_batch_size: 1, instances: 1 };

describe('the suite of samplers', () => {
  it('finds one that goes on for ever, one that proposes nothing, and what is illegal', async () => {
    const trial = { kind: 'trial', levels: { kind: 'search' } } as const;
    expect(await failedBy(() => ({ ...trial, assignment: first }))).toContain(
      'proposes legal candidates, none twice at one level, and stops with a reason',
    );
    expect(await failedBy(() => ({ kind: 'stop', reason: '' }))).toHaveLength(2);
    expect(await failedBy(() => ({ ...trial, assignment: { max_batch_size: 1, instances: 3 } }))).not.toEqual([]);
  });

  it('finds one that remembers what it was asked', async () => {
    let count = 0;
    const forgetful = await failedBy(({ trials }) =>
      trials.length > 2 || ++count > 4
        ? { kind: 'stop', reason: 'enough' }
        : {
            kind: 'trial',
            assignment: { max_batch_size: 8, queue_delay_us: 0, instances: trials.length },
            levels: { kind: 'search' },
          },
    );
    expect(forgetful).toContain('is a function of seed and history');
  });

  it('finds one that proposes what was ruled out', async () => {
    const deaf = await failedBy(({ trials }) =>
      trials.length > 1
        ? { kind: 'stop', reason: 'enough' }
        : { kind: 'trial', assignment: first, levels: { kind: 'search' } },
    );
    expect(deaf).toContain('proposes nothing that a person has ruled out');
  });
});
