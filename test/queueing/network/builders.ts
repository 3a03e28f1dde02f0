import { seededRandom } from '#base/random.ts';
import type { BatcherPolicy } from '#queueing/batcher-policy.ts';
import { simulateNetwork } from '#queueing/network/simulate-network.ts';
import type { Front, FrontFigures, Network, Stage, Step } from '#queueing/network/types.ts';
import { affineLaw, type ServiceLaw } from '#queueing/service-law.ts';

export const MS = 1e6;

/** A model without batching that takes so long for each request. */
export const plain = (
  name: string,
  ms: number,
  more: Partial<Stage> & { instances?: number; cv?: number } = {},
): Stage => {
  const { instances = 1, cv = 0, ...rest } = more;
  return { name, policy: policy({ instances }), law: law(ms, 0, { cv }), ...rest };
};

export const policy = (changes: Partial<BatcherPolicy> = {}): BatcherPolicy => ({
  maxBatchSize: 0,
  preferredBatchSizes: [],
  maxQueueDelayNs: 0,
  instances: 1,
  dynamicBatching: false,
  ...changes,
});

export const batching = (maxBatchSize: number, changes: Partial<BatcherPolicy> = {}): BatcherPolicy =>
  policy({ maxBatchSize, dynamicBatching: true, ...changes });

export const law = (fixedMs: number, perSampleMs: number, changes: Partial<ServiceLaw> = {}): ServiceLaw => ({
  ...affineLaw(fixedMs * MS, perSampleMs * MS),
  ...changes,
});

/** Steps one after the other. */
export const chain = (...stages: string[]): Step[] =>
  stages.map((stage, place) => ({ stage, after: place === 0 ? [] : [place - 1] }));

export const closed = (
  name: string,
  steps: readonly Step[],
  concurrency: number,
  more: Partial<Front> = {},
): Front => ({
  name,
  steps,
  traffic: { kind: 'closed', concurrency },
  ...more,
});

/** Requests that arrive at these milliseconds. */
export const at = (name: string, steps: readonly Step[], ...atMs: number[]): Front => ({
  name,
  steps,
  traffic: { kind: 'open', arrivalsNs: atMs.map((ms) => ms * MS) },
});

export const rate = (
  name: string,
  steps: readonly Step[],
  perSecond: number,
  distribution: 'constant' | 'poisson' = 'constant',
): Front => ({ name, steps, traffic: { kind: 'rate', perSecond, distribution } });

export const run = (network: Network, more: { warmUpRequests?: number; requests?: number; seed?: number } = {}) =>
  simulateNetwork(network, { warmUpRequests: 200, requests: 2000, seed: 1, ...more });

/** Everything that comes, without a warm-up. */
export const whole = (network: Network) => run(network, { warmUpRequests: 0, requests: 1 });

export const latenciesMs = (front: FrontFigures | undefined): number[] =>
  Array.from(front?.latenciesNs ?? [], (ns) => Math.round((ns / MS) * 1e6) / 1e6);

export const relative = (value: number, expected: number): number => Math.abs(value / expected - 1);

/** Poisson arrivals in nanoseconds. */
export function poisson(perSecond: number, count: number, seed: number): Float64Array {
  const random = seededRandom(seed);
  let atNs = 0;
  return Float64Array.from({ length: count }, () => {
    atNs -= (Math.log(1 - random.float()) / perSecond) * 1e9;
    return atNs;
  });
}
