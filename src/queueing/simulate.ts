import { TrituneError } from '../base/errors.ts';
import { seededRandom } from '../base/random.ts';
import { type Batcher, createBatcher } from './batcher.ts';
import type { BatcherPolicy } from './batcher-policy.ts';
import { EventHeap } from './event-heap.ts';
import { checkServiceLaw, executionNs, type ServiceLaw, spreadOf } from './service-law.ts';
import type { Simulation } from './tally.ts';
import { Tally } from './tally.ts';
import { ArrivalStream, checkTraffic, type Traffic } from './traffic.ts';

export type SimulationOptions = {
  /** Requests that are answered before counting begins. */
  readonly warmUpRequests: number;
  /** Requests that are simulated after the warm-up in a closed loop; open traffic is served to its end. */
  readonly requests: number;
  readonly seed: number;
};

/**
 * Rounds of all requests in flight that are needed to estimate a rate: fewer end within a few large batches, and may end anywhere in one.
 */
const ROUNDS = 6;

/** Returns the number of requests of a closed loop to count: `least`, or more with many in flight. */
export const enoughRequests = (least: number, concurrency: number): number => Math.max(least, ROUNDS * concurrency);

/** Heap subject of a planned wake-up; any other subject is the instance whose execution ends. */
const WAKE = -1;

/** Requests of a simulation, at most: each takes memory and a part of a microsecond. */
const MOST_REQUESTS = 2 ** 24;

/**
 * Simulates a server with the policy and the service law under the traffic, in virtual time.
 * The same arguments give the same figures, everywhere. Throws CONFIG_INVALID or INPUT_INVALID for impossible ones,
 * also when nothing is left to count after the warm-up.
 */
export function simulate(
  policy: BatcherPolicy,
  law: ServiceLaw,
  traffic: Traffic,
  options: SimulationOptions,
): Simulation {
  checkServiceLaw(law);
  checkTraffic(traffic);
  checkOptions(options);
  const run = new Run(policy, law, traffic, options);
  while (run.step());
  return run.tally.summary();
}

class Run {
  readonly tally: Tally;
  readonly #batcher: Batcher;
  readonly #law: ServiceLaw;
  readonly #spread: () => number;
  readonly #events = new EventHeap();
  readonly #arrivals: ArrivalStream;
  readonly #samples: number;
  readonly #queuedNs: Float64Array;
  #frontEndFreeNs = 0;
  #plannedWakeNs = Number.NaN;

  /** The batch that each instance executes. Requests are executed in order, so a batch is a range of their numbers. */
  readonly #first: Int32Array;
  readonly #count: Int32Array;
  readonly #startNs: Float64Array;
  readonly #batchSize: Int32Array;

  constructor(policy: BatcherPolicy, law: ServiceLaw, traffic: Traffic, options: SimulationOptions) {
    const largestBatch = Math.max(1, policy.maxBatchSize);
    const { sent, counted } = extent(traffic, options, largestBatch);
    const instances = Math.min(policy.instances, law.atOnce ?? policy.instances);
    if (isTooLarge(sent + policy.instances)) throw tooLarge(sent, policy.instances);
    this.#batcher = createBatcher({ ...policy, instances });
    this.#law = law;
    const random = seededRandom(options.seed);
    this.#spread = spreadOf(law.cv, random);
    this.#arrivals = new ArrivalStream(traffic, sent, random);
    this.#samples = traffic.samplesPerRequest ?? 1;
    this.#queuedNs = new Float64Array(sent);
    this.#first = new Int32Array(policy.instances);
    this.#count = new Int32Array(policy.instances);
    this.#startNs = new Float64Array(policy.instances);
    this.#batchSize = new Int32Array(policy.instances);
    this.tally = new Tally({
      warmUpRequests: options.warmUpRequests,
      requests: counted,
      largestBatch,
      roundTripNs: traffic.roundTripNs ?? 0,
    });
  }

  /** Handles the next event; returns false at the end of the simulation. Of simultaneous events, arrivals come first. */
  step(): boolean {
    const arrivalNs = Math.max(this.#arrivals.nextNs, this.#frontEndFreeNs) + this.#law.frontEndNs;
    const eventNs = this.#events.nextNs;
    const nowNs = Math.min(arrivalNs, eventNs);
    if (nowNs === Number.POSITIVE_INFINITY) return false;
    this.tally.busyUntil(nowNs, this.#batcher.busyInstances);
    if (arrivalNs <= eventNs) {
      this.#arrive(arrivalNs);
    } else {
      const subject = this.#events.take();
      if (subject !== WAKE) this.#complete(eventNs, subject);
      else if (this.#batcher.nextWakeNs === eventNs) this.#batcher.wake(eventNs);
      if (this.tally.isFull) return false;
    }
    this.#start(nowNs);
    return true;
  }

  #arrive(nowNs: number): void {
    const request = this.#arrivals.take();
    this.#frontEndFreeNs = nowNs;
    this.#queuedNs[request] = nowNs;
    this.#batcher.arrive(nowNs, request, this.#samples);
  }

  #complete(nowNs: number, instance: number): void {
    const startNs = this.#startNs[instance] as number;
    const first = this.#first[instance] as number;
    const count = this.#count[instance] as number;
    for (let request = first; request < first + count; request++) {
      this.tally.answered(this.#arrivals.sentNs(request), this.#queuedNs[request] as number, startNs, nowNs);
      this.#arrivals.answered(nowNs);
    }
    this.tally.executed(this.#batchSize[instance] as number, count, nowNs);
    this.#batcher.complete(nowNs, instance);
  }

  #start(nowNs: number): void {
    const batcher = this.#batcher;
    for (let started = batcher.takeStarted(); started !== undefined; started = batcher.takeStarted()) {
      const { instance, batchSize } = started;
      this.#first[instance] = started.requestId(0);
      this.#count[instance] = started.requestCount;
      this.#startNs[instance] = nowNs;
      this.#batchSize[instance] = batchSize;
      const meanNs = executionNs(this.#law, batchSize, batcher.busyInstances);
      this.#events.add(nowNs + meanNs * this.#spread(), instance);
    }
    const wakeNs = batcher.nextWakeNs;
    if (wakeNs === Number.POSITIVE_INFINITY || wakeNs === this.#plannedWakeNs) return;
    this.#plannedWakeNs = wakeNs;
    this.#events.add(wakeNs, WAKE);
  }
}

/** Returns the number of requests to send, and the number of counted ones that ends the simulation. */
function extent(
  traffic: Traffic,
  { warmUpRequests, requests }: SimulationOptions,
  largestBatch: number,
): { sent: number; counted: number } {
  if (traffic.kind === 'open') return { sent: traffic.arrivalsNs.length, counted: traffic.arrivalsNs.length };
  // Clients continue while the last counted requests are in progress; warm-up and count each end with a whole batch.
  return { sent: warmUpRequests + requests + traffic.concurrency + 2 * largestBatch, counted: requests };
}

/** What is no whole number is refused for that. */
const isTooLarge = (count: number): boolean => Number.isSafeInteger(count) && count > MOST_REQUESTS;

const tooLarge = (sent: number, instances: number): TrituneError =>
  new TrituneError(
    'INPUT_INVALID',
    `a simulation of ${sent} requests to ${instances} instances is larger than is run`,
    'give fewer clients, smaller batches or fewer instances',
  );

function checkOptions({ warmUpRequests, requests }: SimulationOptions): void {
  if (Number.isInteger(warmUpRequests) && warmUpRequests >= 0 && Number.isInteger(requests) && requests >= 1) return;
  throw new TrituneError(
    'INPUT_INVALID',
    `a simulation of ${requests} requests after a warm-up of ${warmUpRequests} cannot be run`,
    'give integers: at least 1 request, and a warm-up of at least 0',
  );
}
