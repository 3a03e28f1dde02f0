import type { ThreadLimits } from '../workers/send-limits.ts';
import { newSendLimits, type SendLimits, SharedConnections } from '../workers/send-limits.ts';
import { type AgentLimits, checkMemory, checkRate, checkThreads } from './limits.ts';

interface Taken {
  /** Places of the threads among the shared counts. */
  places: readonly number[];
  bytes: number;
  /** Bytes of what is on its way: parts of messages, and messages whose work is not done. */
  passingBytes: number;
  /** Planned requests per second, by thread and flow. */
  readonly rates: Map<string, number>;
}

const computeSum = (values: Iterable<number>): number => [...values].reduce((sum, value) => sum + value, 0);

/** The combined use of an agent's sessions, within its limits. */
export class AgentUsage {
  readonly limits: AgentLimits;
  readonly #taken = new Map<object, Taken>();
  readonly #sending: SendLimits;
  readonly #freePlaces: number[];

  constructor(limits: AgentLimits, nowNs: number) {
    this.limits = limits;
    this.#sending = newSendLimits(limits, limits.threads, nowNs);
    this.#freePlaces = Array.from({ length: limits.threads }, (_, place) => place);
  }

  /** Returns the limits of each new thread. Errors: USAGE. */
  addThreads(session: object, threads: number): readonly ThreadLimits[] {
    const taken = this.#of(session);
    checkThreads(this.limits.threads - this.#freePlaces.length + threads, this.limits);
    const places = this.#freePlaces.splice(0, threads);
    taken.places = [...taken.places, ...places];
    return places.map((place) => ({ ...this.#sending, place }));
  }

  /** Errors: USAGE. */
  addBytes(session: object, bytes: number): void {
    const taken = this.#of(session);
    this.#checkMemory(bytes);
    taken.bytes += bytes;
  }

  /** Counts bytes that come and go; a negative number when they are gone. Errors: USAGE. */
  pass(session: object, bytes: number): void {
    const taken = this.#of(session);
    if (bytes > 0) this.#checkMemory(bytes);
    taken.passingBytes += bytes;
  }

  /** Records the planned rate of a thread's part of a flow; 0 once it has ended. Errors: USAGE. */
  planRate(session: object, part: string, perSecond: number): void {
    const { rates } = this.#of(session);
    if (perSecond === 0) rates.delete(part);
    else rates.set(part, perSecond);
    checkRate(computeSum(this.#each((each) => computeSum(each.rates.values()))), this.limits);
  }

  /** Gives back what the session took. Its threads have ended. */
  leave(session: object): void {
    for (const place of this.#taken.get(session)?.places ?? []) {
      new SharedConnections({ ...this.#sending, place }).releaseAll();
      this.#freePlaces.push(place);
    }
    this.#taken.delete(session);
  }

  #checkMemory(bytes: number): void {
    checkMemory(computeSum(this.#each((each) => each.bytes + each.passingBytes)) + bytes, this.limits);
  }

  #of(session: object): Taken {
    const taken = this.#taken.get(session) ?? { places: [], bytes: 0, passingBytes: 0, rates: new Map() };
    this.#taken.set(session, taken);
    return taken;
  }

  #each(of: (taken: Taken) => number): readonly number[] {
    return [...this.#taken.values()].map(of);
  }
}
