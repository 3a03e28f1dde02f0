import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readPrices, toCostTerms, withPrices } from '#app/study/cost-terms.ts';
import { toGoal } from '#app/study/goal.ts';
import { documents } from '#cli/commands/schema-documents.ts';
import { toSpec } from '#spec/spec-of-options.ts';
import { checkStudySpec } from '#spec/study-spec.ts';
import { freshDirectory } from '../support/run-directory.ts';

const example = resolve(import.meta.dirname, '../../examples/prices.yaml');
const published = resolve(import.meta.dirname, '../../docs/prices.schema.json');

const spec = (cost: object | undefined, prices: unknown = example) =>
  checkStudySpec({ model: 'm', prices, ...(cost && { cost }) }, 'it');
const usage = (message: RegExp) => expect.objectContaining({ code: 'USAGE', message: expect.stringMatching(message) });

describe('a file of prices', () => {
  it('has a published schema (-u prints it)', async () => {
    await expect(`${JSON.stringify(documents.prices(), null, 2)}\n`).toMatchFileSnapshot(published);
    expect(await readFile(published, 'utf8')).toContain('instanceTypes');
  });

  it('is refused with the place of what is wrong', async () => {
    const file = join(await freshDirectory(), 'prices.yaml');
    await writeFile(file, 'gpus: { L4: -1 }\n');
    expect(() => readPrices(file)).toThrowError(
      expect.objectContaining({ code: 'INPUT_INVALID', message: expect.stringContaining('gpus.L4') }),
    );
    await writeFile(file, 'currency: EUR\n');
    expect(() => readPrices(file)).toThrowError(/neither gpus nor instanceTypes/);
    expect(() => readPrices(`${file}.no`)).toThrowError(/cannot read/);
  });

  it('stands whole in the spec that a journal keeps', () => {
    const kept = withPrices(spec({ gpu: 'L4' }));
    expect(kept.prices).toMatchObject({ currency: 'USD', gpus: { L4: 0.8 } });
    expect(toCostTerms(kept)).toEqual(toCostTerms(spec({ gpu: 'L4' })));
  });
});

describe('what is paid for', () => {
  it('is a GPU, a slice of one at its share or price, or an instance type', () => {
    const paid = (cost: object) => {
      const { name, per, perHour, serverGpus } = toCostTerms(spec(cost)) ?? {};
      return [name, per, Number(perHour?.toFixed(3)), serverGpus];
    };
    expect(paid({ gpu: 'L4' })).toEqual(['L4', 'gpu', 0.8, undefined]);
    expect(paid({ gpu: 'A100-80GB' })).toEqual(['A100-80GB', 'gpu', 4, undefined]);
    expect(paid({ gpu: 'A100-80GB/1g.10gb', serverGpus: 2 })).toEqual(['A100-80GB/1g.10gb', 'gpu', 0.572, 2]);
    expect(paid({ gpu: 'A100-80GB/3g.40gb' })).toEqual(['A100-80GB/3g.40gb', 'gpu', 2, undefined]);
    expect(paid({ instanceType: 'four-l4' })).toEqual(['four-l4', 'server', 4.2, 4]);
    expect(paid({ instanceType: 'cpu-16' })).toEqual(['cpu-16', 'server', 0.7, undefined]);
  });

  it('comes with the types of instances that have the same GPU', () => {
    const alike = (cost: object) => toCostTerms(spec(cost))?.instanceTypes?.map(({ name, gpus }) => [name, gpus]);
    const withL4 = [
      ['one-l4', 1],
      ['four-l4', 4],
    ];
    expect(alike({ gpu: 'L4' })).toEqual(withL4);
    expect(alike({ instanceType: 'four-l4' })).toEqual(withL4);
    expect(alike({ gpu: 'T4' })).toBeUndefined();
    expect(alike({ instanceType: 'cpu-16' })).toBeUndefined();
  });

  it('is the only GPU where there is no other, and must be said elsewhere', () => {
    expect(toCostTerms(spec(undefined, { gpus: { T4: 1 } }))).toMatchObject({
      name: 'T4',
      headroom: 0.1,
      chance: 0.95,
    });
    expect(() => toCostTerms(spec({ forRate: 10 }))).toThrowError(usage(/several prices/));
    expect(() => toCostTerms(spec({ gpu: 'L5' }))).toThrowError(usage(/no GPU 'L5' \(did you mean 'L4'\?\)/));
    expect(() => toCostTerms(spec({ gpu: 'A100-80GB/9g' }))).toThrowError(usage(/no slice '9g'/));
    expect(() => toCostTerms(spec({ gpu: 'L4', instanceType: 'one-l4' }))).toThrowError(
      usage(/cannot be used together/),
    );
    expect(() => toCostTerms(checkStudySpec({ model: 'm', cost: { forRate: 10 } }, 'it'))).toThrowError(
      usage(/costs need prices/),
    );
    expect(toCostTerms(checkStudySpec({ model: 'm' }, 'it'))).toBeUndefined();
  });
});

describe('the objective cost', () => {
  const objectives = (options: Parameters<typeof toSpec>[0]) =>
    toGoal(toSpec({ model: 'm', prices: example, gpu: 'L4', ...options })).objectives.map(({ metric, weight }) => [
      metric,
      weight,
    ]);

  it('is the price of an hour for a rate, of a million inferences or tokens without one', () => {
    expect(objectives({ forRate: 2000 })).toEqual([['cost-per-hour', 1]]);
    expect(objectives({ forRate: 2000, objective: ['cost:3', 'latency'] })).toEqual([
      ['cost-per-hour', 3],
      ['latency', 1],
    ]);
    expect(objectives({ objective: ['cost'] })).toEqual([['cost-per-million', 1]]);
    expect(objectives({ objective: ['cost'], endpoint: 'openai' })).toEqual([['cost-per-million-tokens', 1]]);
    expect(objectives({})).toEqual([['throughput', 1]]);
  });

  it('is refused without prices or a rate, before anything is measured', () => {
    const asked = (options: Parameters<typeof toSpec>[0]) => () => toGoal(toSpec({ model: 'm', ...options }));
    expect(asked({ objective: ['cost'] })).toThrowError(usage(/needs prices/));
    expect(asked({ prices: example, gpu: 'L4', constraint: ['replicas<=3'] })).toThrowError(usage(/needs the rate/));
  });
});
