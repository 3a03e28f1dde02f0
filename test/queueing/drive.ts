import { type Batcher, createBatcher } from '#queueing/batcher.ts';
import type { BatcherPolicy } from '#queueing/batcher-policy.ts';

/** One execution as a test sees it. */
export type Batch = {
  readonly startNs: number;
  readonly endNs: number;
  readonly instance: number;
  readonly requests: readonly number[];
  readonly samples: number;
};

export type Arrival = { readonly atNs: number; readonly samples: number };
type Event = { atNs: number; order: number; run: (nowNs: number) => void };

/**
 * Runs a batcher over given arrivals, in the plainest way: a sorted list of events, each kept with
 * the order in which it was planned, which decides between events of the same time. Arrivals are
 * planned first.
 */
export function drive(
  policy: BatcherPolicy,
  arrivals: readonly Arrival[],
  serviceNs: (samples: number) => number,
  alsoAt: readonly { atNs: number; run: (batcher: Batcher, nowNs: number) => void }[] = [],
): Batch[] {
  const batcher = createBatcher(policy);
  const batches: Batch[] = [];
  const events: Event[] = [];
  let order = 0;
  let plannedWakeNs = Number.NaN;
  const plan = (atNs: number, run: Event['run']): void => {
    events.push({ atNs, order: order++, run });
    events.sort((a, b) => a.atNs - b.atNs || a.order - b.order);
  };
  arrivals.forEach(({ atNs, samples }, request) => {
    plan(atNs, (nowNs) => batcher.arrive(nowNs, request, samples));
  });
  for (const { atNs, run } of alsoAt) plan(atNs, (nowNs) => run(batcher, nowNs));
  for (let event = events.shift(); event; event = events.shift()) {
    const nowNs = event.atNs;
    event.run(nowNs);
    for (let started = batcher.takeStarted(); started; started = batcher.takeStarted()) {
      const { instance, batchSize, requestCount } = started;
      const requests = Array.from({ length: requestCount }, (_, index) => started?.requestId(index) as number);
      const endNs = nowNs + serviceNs(batchSize);
      batches.push({ startNs: nowNs, endNs, instance, requests, samples: batchSize });
      plan(endNs, (at) => batcher.complete(at, instance));
    }
    const wakeNs = batcher.nextWakeNs;
    if (wakeNs !== Number.POSITIVE_INFINITY && wakeNs !== plannedWakeNs) {
      plannedWakeNs = wakeNs;
      plan(wakeNs, (at) => {
        if (batcher.nextWakeNs === at) batcher.wake(at);
      });
    }
  }
  return batches;
}
