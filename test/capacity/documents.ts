import type { CapacityDocument } from '../../src/capacity/document-schema.ts';

const point = (perSecond: number, p99: number, badShare: number) => ({
  perSecond,
  percentileMs: { value: p99, low: p99 * 0.95, high: p99 * 1.05 },
  p50Ms: p99 / 2,
  p99Ms: p99,
  badShare,
  errorRate: 0,
  servedPerSecond: Math.min(perSecond, 1050),
  seconds: 5,
});

/** A finished run's document. */
export const aCapacity = (change: Partial<CapacityDocument> = {}): CapacityDocument => ({
  schemaVersion: 1,
  kind: 'capacity',
  trituneVersion: '0',
  model: 'm',
  server: { name: 'triton', version: '2.51', url: 'localhost:8001', emulated: null },
  protocol: 'grpc',
  batch: 1,
  arrivals: 'poisson',
  commandLine: ['capacity', '-m', 'm'],
  limit: { percentile: 99, budgetMs: 50, limits: null },
  outcome: 'found',
  precision: 0.03,
  capacity: { value: 1000, low: 980, high: 1020 },
  atLeast: 970,
  at: point(980, 42, 0.005),
  saturation: { perSecond: 1080, isReached: true },
  cliff: [{ factor: 1.25, ...point(1250, 900, 0.92), p50Ms: 400, growthMsPerSecond: 180 }],
  burst: {
    factor: 2,
    seconds: 30,
    recoverSeconds: null,
    basePerSecond: { value: 510, low: 490, high: 530 },
    plays: [{ ...point(500, 30, 0.004), isKept: true, worstMs: 60, recoveredAfterSeconds: 0.5 }],
  },
  replicas: {
    perSecond: 2000,
    headroom: 0.2,
    chance: 0.95,
    spread: 0,
    replicas: 3,
    table: [
      { replicas: 2, perReplica: 1250, chance: 0 },
      { replicas: 3, perReplica: 833, chance: 0.999 },
    ],
  },
  speed: { lowest: 0.98, highest: 1.03, hasChanged: false, isCorrected: true },
  notes: [],
  probes: [
    { ...point(970, 40, 0.004), isKept: true, speed: 1 },
    { ...point(1040, 120, 0.06), isKept: false, speed: 1.01 },
  ],
  closedLoops: [{ concurrency: 1, servedPerSecond: 200, percentileMs: 5 }],
  seconds: 80,
  mostSeconds: 600,
  cutShort: [],
  tokens: null,
  gpus: { count: 4, requestsPerSecond: { value: 250, low: 245, high: 255 } },
  cost: {
    ...{ currency: 'USD', name: 'L4', per: 'gpu', perHour: 3.2 },
    perMillion: { value: 0.889, low: 0.871, high: 0.907 },
    forRate: { perHour: 9.6, perMillion: 1.33 },
    instanceTypes: [
      {
        ...{ name: 'four-l4', gpus: 4, perHour: 4.2, holds: 1 },
        perMillion: { value: 1.17, low: 1.14, high: 1.19 },
        forRate: { instances: 3, perHour: 12.6 },
      },
      {
        ...{ name: 'eight-l4', gpus: 8, perHour: 9, holds: 2 },
        perMillion: { value: 1.25, low: 1.23, high: 1.28 },
        forRate: { instances: 2, perHour: 18 },
      },
    ],
  },
  ...change,
});
