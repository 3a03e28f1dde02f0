import { describe, expect, it } from 'vitest';
import { affineNs } from '#perfmodel/affine-line.ts';
import { averagedInterference, type ExecutionPoint } from '#perfmodel/interference.ts';

const MS = 1e6;

/**
 * How a made-up model takes longer: for each other busy instance, and for instances beyond its
 * cores whether busy or not.
 */
interface Truth {
  readonly perInstance: number;
  readonly cores: number;
}

const timeMs = ({ perInstance, cores }: Truth, batch: number, instances: number, busy: number): number =>
  (4 + 0.5 * batch) * (1 + perInstance * (busy - 1)) * Math.max(1, instances / cores);

const seen = (truth: Truth, instances: number, busyInstances: number): ExecutionPoint[] =>
  [1, 4, 8].map((batchSize) => ({
    settingsKey: 'plain',
    batchSize,
    instances,
    busyInstances,
    surroundingBatch: 1,
    executionNs: MS * timeMs(truth, batchSize, instances, busyInstances),
    weight: 0.9,
  }));

const predictedMs = (
  points: readonly ExecutionPoint[],
  batchSize: number,
  instances: number,
  busyInstances: number,
): number => {
  const line = averagedInterference(points).lineFor(instances);
  return affineNs(line, { settingsKey: 'plain', batchSize, busyInstances, executionNs: 1, weight: 1 }) / MS;
};

const busyOnly: Truth = { perInstance: 0.8, cores: Number.POSITIVE_INFINITY };
const presentOnly: Truth = { perInstance: 0, cores: 1.2 };

describe('how instances crowd each other', () => {
  it.each<[string, Truth]>([
    ['by being busy', busyOnly],
    ['by being there', presentOnly],
  ])('%s, is told by four that were busy and four that were not, for any other number', (_, truth) => {
    const points = [...seen(truth, 1, 1), ...seen(truth, 4, 4), ...seen(truth, 4, 1)];
    for (const [instances, busy] of [
      [2, 2],
      [2, 1],
      [3, 3],
    ] as const) {
      const ratio = predictedMs(points, 8, instances, busy) / timeMs(truth, 8, instances, busy);
      expect(Math.abs(ratio - 1)).toBeLessThan(0.15);
      expect(averagedInterference(points).uncertainty(instances, busy, 8)).toBeLessThan(0.15);
    }
  });

  it('does not hold two busy ones for slow because four are slow that only wait', () => {
    const points = [...seen(presentOnly, 1, 1), ...seen(presentOnly, 4, 4), ...seen(presentOnly, 2, 1)];
    const ratio = predictedMs(points, 8, 2, 2) / timeMs(presentOnly, 8, 2, 2);
    expect(Math.abs(ratio - 1)).toBeLessThan(0.25);
  });

  it('is open between ways that explain what was seen alike, until they are told apart', () => {
    const points = [...seen(presentOnly, 1, 1), ...seen(presentOnly, 4, 4)];
    const open = averagedInterference(points).uncertainty(4, 1, 8);
    expect(open).toBeGreaterThan(0.3);
    expect(averagedInterference([...points, ...seen(presentOnly, 4, 1)]).uncertainty(4, 1, 8)).toBeLessThan(open / 3);
  });

  it('is hardly doubted where it was seen, and the more the more instances there are that were not', () => {
    const one = averagedInterference(seen(busyOnly, 1, 1));
    expect(one.uncertainty(1, 1, 8)).toBeLessThan(0.05);
    const more = [2, 4].map((instances) => one.uncertainty(instances, instances, 8));
    expect(more[0]).toBeGreaterThan(0.1);
    expect(more[1]).toBeGreaterThan(more[0] as number);
  });

  it('is a tenth for each further one while nothing was seen of it', () => {
    const points = seen(busyOnly, 1, 1);
    const ratio = predictedMs(points, 8, 2, 2) / timeMs(busyOnly, 8, 1, 1);
    expect(ratio).toBeGreaterThan(1.05);
    expect(ratio).toBeLessThan(1.35);
  });
});
