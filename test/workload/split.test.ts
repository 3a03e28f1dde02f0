import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NS_PER_S } from '#base/units.ts';
import { splitWorkload } from '#workload/split.ts';
import { findDuration, type TraceArrivals, type Workload } from '#workload/workload.ts';
import { workloadOf } from './workloads.ts';

const trace = (atS: readonly number[], durationS: number): Promise<Workload> =>
  workloadOf({
    classes: { a: {}, b: {} },
    phases: [
      { durationS, arrivals: { process: 'trace', atS, classOf: atS.map((_, index) => (index % 3 === 0 ? 'a' : 'b')) } },
    ],
  });
const arrivalsOf = ({ phases }: Workload): TraceArrivals => phases[0]?.arrivals as TraceArrivals;

describe('a split of a trace', () => {
  it('has each request in one part, with its place within a block and its class', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.double({ min: 0, max: 99.9, noNaN: true }), { minLength: 1, maxLength: 300 }),
        fc.double({ min: 0.1, max: 0.9, noNaN: true }),
        fc.integer({ min: 2, max: 25 }).map((blocks) => 100 / blocks),
        fc.integer({ min: 0, max: 1e6 }),
        async (atS, holdoutShare, blockS, seed) => {
          fc.pre(
            Math.round((100 / blockS) * holdoutShare) > 0 && Math.round((100 / blockS) * holdoutShare) < 100 / blockS,
          );
          const workload = await trace(atS, 100);
          const { train, holdout } = splitWorkload(workload, { holdoutShare, blockS, seed });
          expect(findDuration(train) + findDuration(holdout)).toBeCloseTo(100, 6);
          expect(Math.abs(findDuration(holdout) - 100 * holdoutShare)).toBeLessThanOrEqual(blockS / 2 + 1e-6);
          const inBlocks = (of: Workload): string[] =>
            [...arrivalsOf(of).timesNs].map((ns, index) => {
              const inBlock = (ns / NS_PER_S + 1e-9) % blockS;
              return `${inBlock.toFixed(5)} ${arrivalsOf(of).classOf?.[index]}`;
            });
          expect([...inBlocks(train), ...inBlocks(holdout)].sort()).toEqual(inBlocks(workload).sort());
          for (const part of [train, holdout]) {
            const { timesNs } = arrivalsOf(part);
            expect(timesNs.every((ns, at) => ns >= (timesNs[at - 1] ?? 0) && ns < findDuration(part) * NS_PER_S)).toBe(
              true,
            );
          }
          expect(splitWorkload(workload, { holdoutShare, blockS, seed })).toEqual({ train, holdout });
        },
      ),
      { numRuns: 60 },
    );
  });

  it('holds blocks out all over the trace, others with another seed', async () => {
    const atS = Array.from({ length: 100 }, (_, index) => index + 0.5);
    const workload = await trace(atS, 100);
    const partsOf = (seed: number) => splitWorkload(workload, { holdoutShare: 0.25, blockS: 1, seed });
    expect(arrivalsOf(partsOf(1).train).timesNs).toHaveLength(75);
    expect(arrivalsOf(partsOf(1).holdout).timesNs).toHaveLength(25);
    expect(partsOf(1)).not.toEqual(partsOf(2));
    // A trace with a rising rate: one block of each four is held out, so that both parts see the
    // rise.
    const rising = Array.from({ length: 2000 }, (_, index) => Math.sqrt(index / 2000) * 100);
    const parts = splitWorkload(await trace(rising, 100), { holdoutShare: 0.5, blockS: 2, seed: 3 });
    const halves = [parts.train, parts.holdout].map((part) => arrivalsOf(part).timesNs.length);
    expect(Math.abs((halves[0] as number) / 1000 - 1)).toBeLessThan(0.1);
    expect((halves[0] as number) + (halves[1] as number)).toBe(2000);
  });

  it('is refused without a trace, and where a part would be empty', async () => {
    const rates = await workloadOf({ phases: [{ durationS: 5, arrivals: { process: 'poisson', perSecond: 1 } }] });
    expect(() => splitWorkload(rates, { holdoutShare: 0.5, seed: 1 })).toThrow('no trace to split');
    const one = await trace([0, 1], 100);
    expect(() => splitWorkload(one, { holdoutShare: 0.5, blockS: 90, seed: 1 })).toThrow('cannot be split');
    expect(() => splitWorkload(one, { holdoutShare: 0, seed: 1 })).toThrow('cannot be split');
  });
});
