import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  checkSameWorkloads,
  passesSeconds,
  readWorkloads,
  simulatedWorkloads,
  withWorkloads,
} from '#app/study/read-workloads.ts';
import { toSpec } from '#spec/spec-of-options.ts';
import type { FlatStudyOptions } from '#spec/tune-options.ts';
import { freshDirectory } from '../support/run-directory.ts';

const steady = {
  workloadVersion: 1,
  classes: { short: { limitMs: 20 }, long: {} },
  phases: [{ durationS: 10, arrivals: { process: 'poisson', perSecond: 100 } }],
};
/** Two hundred requests in a hundred seconds, most of them in the first half. */
const recorded = {
  workloadVersion: 1,
  phases: [
    {
      durationS: 100,
      arrivals: {
        process: 'trace',
        atS: Array.from({ length: 200 }, (_, index) => (index < 150 ? index / 3 : index / 2)),
      },
    },
  ],
};

async function read(options: Partial<FlatStudyOptions> = {}) {
  const directory = await freshDirectory();
  const files = ['steady', 'recorded'].map((name) => join(directory, `${name}.yaml`)) as [string, string];
  await writeFile(files[0], JSON.stringify(steady));
  await writeFile(files[1], JSON.stringify(recorded));
  const spec = toSpec({ model: 'm', workload: files, seed: 3, ...options });
  const { workloads, spec: complete } = await withWorkloads(spec);
  return { files, spec: complete, workloads: workloads as NonNullable<typeof workloads> };
}

describe('the workloads of a study', () => {
  it('are levelled by the first, and keep their relation', async () => {
    const { spec, workloads } = await read();
    expect(spec.levels.requestRate).toEqual({ low: 25, high: 400 });
    expect(workloads.search.map(({ perLevel }) => perLevel)).toEqual([1, 0.02]);
    expect(workloads.final).toBe(workloads.search);
    const asked = await read({ requestRate: { low: 50, high: 60 } });
    expect(asked.spec.levels.requestRate).toEqual({ low: 50, high: 60 });
  });

  it('have passes of 30 s at most, unless a time scale says otherwise', async () => {
    const seconds = async (options?: Partial<FlatStudyOptions>): Promise<number[]> =>
      (await read(options)).workloads.record.of.map(({ passSeconds }) => passSeconds);
    expect(await seconds()).toEqual([10, 30]);
    expect(await seconds({ timeScale: 0.5 })).toEqual([5, 50]);
    expect(passesSeconds((await read()).workloads)).toBeCloseTo(42, 9);
  });

  it('have passes so short that eight measurements fit into two thirds of a time budget, and of 5 s at least', async () => {
    const seconds = async (timeBudget: number): Promise<number[]> =>
      (await read({ timeBudget })).workloads.record.of.map(({ passSeconds }) => passSeconds);
    expect(await seconds(240)).toEqual([10, 10]);
    expect(await seconds(192)).toEqual([8, 8]);
    expect(await seconds(60)).toEqual([5, 5]);
    expect(await seconds(3600)).toEqual([10, 30]);
  });

  it('keep the passes that they began with when a study goes on with another time budget', async () => {
    const { spec, workloads } = await read({ timeBudget: 192 });
    const longer = { ...spec, limits: { ...spec.limits, timeBudgetSeconds: 3600 } };
    const begun = { spec, workloads: workloads.record };
    expect((await readWorkloads(longer, begun))?.record).toEqual(workloads.record);
    // A study of an earlier version: its passes were not shortened for its budget.
    const earlier = (await read()).workloads.record;
    expect(
      (await readWorkloads(spec, { spec, workloads: earlier }))?.record.of.map(({ passSeconds }) => passSeconds),
    ).toEqual([10, 30]);
  });

  it('are judged by what was held out of the search', async () => {
    const { workloads } = await read({ workloadHoldout: 0.3, timeScale: 1 });
    const [search, final] = [workloads.search, workloads.final].map((each) => each.map(({ played }) => played));
    expect([search, final].map((each) => each?.[1]?.passS)).toEqual([70, 30]);
    const counts = [search, final].map((each) => {
      const arrivals = each?.[1]?.workload.phases[0]?.arrivals;
      return arrivals?.process === 'trace' ? arrivals.timesNs.length : Number.NaN;
    });
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(200);
    // What is made up is whole in both, and other requests.
    expect(final?.[0]?.passS).toBe(10);
    expect(final?.[0]?.planAt(50).arrivalsNs).not.toEqual(search?.[0]?.planAt(50).arrivalsNs);
    expect(workloads.record.holdout).toBe(0.3);
  });

  it('are simulated with the limits of their classes, and those of --goodput where a class has none', async () => {
    const { spec, workloads } = await read();
    const [first, second] = simulatedWorkloads(workloads, spec).workloads;
    expect([...(first.limitsNs ?? [])]).toEqual([['short', 20e6]]);
    expect(second?.limitsNs).toBeUndefined();
    const limited = await read({ goodput: { e2eNs: 5e6 } });
    const [both, other] = simulatedWorkloads(limited.workloads, limited.spec).workloads;
    expect([...(both.limitsNs ?? [])]).toEqual([
      ['short', 20e6],
      ['long', 5e6],
    ]);
    expect([...(other?.limitsNs ?? [])]).toEqual([['default', 5e6]]);
  });

  it('are the same when a study goes on, or it does not', async () => {
    const { files, spec, workloads } = await read();
    expect(() => checkSameWorkloads(workloads.record, workloads)).not.toThrow();
    await writeFile(files[1], JSON.stringify({ ...recorded, phases: steady.phases }));
    const changed = await readWorkloads(spec);
    expect(() => checkSameWorkloads(workloads.record, changed)).toThrow(
      /recorded.yaml has changed since the study began/,
    );
  });
});
