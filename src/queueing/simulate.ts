import { TrituneError } from '#base/errors.ts';
import { seededRandom } from '#base/random.ts';
import type { BatcherPolicy } from './batcher-policy.ts';
import { EventHeap } from './event-heap.ts';
import { checkServiceLaw, createSpread, type ServiceLaw } from './service-law.ts';
import { sharedSpread } from './shared-spread.ts';
import { Station } from './station.ts';
import { ClientTally, ModelTally, type Simulation } from './tally.ts';
import { ArrivalStream, checkTraffic, isRandom, MAX_REQUESTS, type Traffic } from './traffic.ts';

export type SimulationOptions = {
  /** Requests to answer before counting begins. */
  readonly warmUpRequests: number;
  /**
   * Requests to simulate after the warm-up in a closed loop or at a rate; open traffic is served to
   * its end.
   */
  readonly requests: number;
  readonly seed: number;
};

/**
 * Rounds of all requests in flight that an estimate of a rate needs: fewer end within a few large
 * batches, possibly in the middle of one.
 */
const ROUNDS = 6;

/**
 * Returns the number of requests of a closed loop to count: `least`, or more with many in flight.
 */
export const enoughRequests = (least: number, concurrency: number): number => Math.max(least, ROUNDS * concurrency);

/** Heap subject of a planned wake-up; any other subject is the instance whose execution ends. */
const WAKE = -1;

/**
 * Simulates a server with the policy and the service law under the traffic, in virtual time. The
 * same arguments give the same figures, everywhere. Throws CONFIG_INVALID or INPUT_INVALID for
 * impossible ones, also when nothing is left to count after the warm-up.
 */
export function simulate(
  policy: BatcherPolicy,
  law: ServiceLaw,
  traffic: Traffic,
  options: SimulationOptions,
): Simulation {
  checkServiceLaw(law);
  checkTraffic(traffic);
  checkSimulation(options);
  const run = new Run(policy, law, traffic, options);
  while (run.step());
  return run.summary();
}

class Run {
  readonly #clients: ClientTally;
  readonly #model: ModelTally;
  readonly #station: Station;
  readonly #events = new EventHeap();
  readonly #arrivals: ArrivalStream;
  readonly #samples: number;
  readonly #frontEndNs: number;
  #frontEndFreeNs = 0;

  constructor(policy: BatcherPolicy, law: ServiceLaw, traffic: Traffic, options: SimulationOptions) {
    const largestBatch = Math.max(1, policy.maxBatchSize);
    const { sent, counted } = extent(traffic, options, largestBatch);
    if (isTooLarge(sent + policy.instances)) throw tooLarge(sent, policy.instances);
    const random = seededRandom(options.seed);
    const spread = isRandom(traffic) ? createSpread(law.cv, random) : sharedSpread(law.cv, options.seed);
    this.#station = new Station(policy, law, spread, Number.isFinite(sent) ? sent : 0);
    this.#frontEndNs = law.frontEndNs;
    this.#arrivals = new ArrivalStream(traffic, sent, random);
    this.#samples = traffic.samplesPerRequest ?? 1;
    this.#clients = new ClientTally(options.warmUpRequests, counted, traffic.roundTripNs ?? 0, largestBatch);
    this.#model = new ModelTally(largestBatch);
    this.#model.isCounting = this.#clients.isCounting;
  }

  /**
   * Handles the next event; returns false at the end of the simulation. Of simultaneous events,
   * arrivals come first.
   */
  step(): boolean {
    const arrivalNs = Math.max(this.#arrivals.nextNs, this.#frontEndFreeNs) + this.#frontEndNs;
    const eventNs = this.#events.nextNs;
    const nowNs = Math.min(arrivalNs, eventNs);
    if (nowNs === Number.POSITIVE_INFINITY) return false;
    this.#model.busyUntil(nowNs, this.#station.batcher.busyInstances);
    if (arrivalNs <= eventNs) {
      this.#arrive(arrivalNs);
    } else {
      const subject = this.#events.take();
      if (subject !== WAKE) this.#complete(eventNs, subject);
      else this.#station.wake(eventNs);
      if (this.#clients.isFull) return false;
    }
    this.#start(nowNs);
    return true;
  }

  /** Returns the figures. Throws INPUT_INVALID when nothing came after the warm-up. */
  summary(): Simulation {
    const clients = this.#clients.summary();
    return { ...clients, ...this.#model.summary(this.#clients.spanNs) };
  }

  /** Takes a request: requests have the same numbers on their way and at the station. */
  #arrive(nowNs: number): void {
    this.#arrivals.take();
    this.#frontEndFreeNs = nowNs;
    this.#station.arrive(nowNs, this.#samples);
  }

  #complete(nowNs: number, instance: number): void {
    const station = this.#station;
    const startNs = station.startNs[instance] as number;
    const first = station.first[instance] as number;
    const count = station.count[instance] as number;
    const clients = this.#clients;
    const model = this.#model;
    const arrivals = this.#arrivals;
    const isCounting = model.isCounting;
    for (let request = first; request < first + count; request++) {
      if (isCounting) {
        clients.answered(arrivals.sentNs(request), nowNs, arrivals.limitNs(request));
        model.served(station.queuedNs[request] as number, startNs, nowNs);
      }
      arrivals.answered(nowNs);
    }
    model.executed(station.batchSize[instance] as number, count, nowNs - startNs);
    clients.together(count, nowNs);
    if (!isCounting) model.isCounting = clients.isCounting;
    station.complete(nowNs, instance);
  }

  #start(nowNs: number): void {
    const station = this.#station;
    for (let instance = station.takeStarted(nowNs); instance >= 0; instance = station.takeStarted(nowNs)) {
      this.#events.add(nowNs + station.drawExecutionNs(instance, station.batcher.busyInstances), instance);
    }
    const wakeNs = station.wakeToPlan();
    if (wakeNs !== Number.POSITIVE_INFINITY) this.#events.add(wakeNs, WAKE);
  }
}

/**
 * Returns the number of requests to send, and the number of counted ones that ends the simulation.
 */
function extent(
  traffic: Traffic,
  { warmUpRequests, requests }: SimulationOptions,
  largestBatch: number,
): { sent: number; counted: number } {
  if (traffic.kind === 'open') return { sent: traffic.arrivalsNs.length, counted: traffic.arrivalsNs.length };
  if (traffic.kind === 'rate') return { sent: Number.POSITIVE_INFINITY, counted: requests };
  // Clients continue while the last counted requests are in progress; warm-up and count each end
  // with a whole batch.
  return { sent: warmUpRequests + requests + traffic.concurrency + 2 * largestBatch, counted: requests };
}

/** Numbers that are not whole are refused for that reason. */
const isTooLarge = (count: number): boolean => Number.isSafeInteger(count) && count > MAX_REQUESTS;

const tooLarge = (sent: number, instances: number): TrituneError =>
  new TrituneError(
    'INPUT_INVALID',
    `a simulation of ${sent} requests to ${instances} instances is larger than is run`,
    'give fewer clients, smaller batches or fewer instances',
  );

/** Checks options. Throws INPUT_INVALID. */
export function checkSimulation({ warmUpRequests, requests }: SimulationOptions): void {
  if (Number.isInteger(warmUpRequests) && warmUpRequests >= 0 && Number.isInteger(requests) && requests >= 1) return;
  throw new TrituneError(
    'INPUT_INVALID',
    `a simulation of ${requests} requests after a warm-up of ${warmUpRequests} cannot be run`,
    'give integers: at least 1 request, and a warm-up of at least 0',
  );
}
