import { type AgentLimits, checkMemory, checkRate, checkThreads, RateMeter } from './limits.ts';

interface Taken {
  threads: number;
  bytes: number;
  /** Planned requests per second, by thread and flow. */
  readonly rates: Map<string, number>;
}

const sumOf = (values: Iterable<number>): number => [...values].reduce((sum, value) => sum + value, 0);

/** The combined use of an agent's sessions, within its limits. */
export class AgentUsage {
  readonly limits: AgentLimits;
  readonly #taken = new Map<object, Taken>();
  readonly #meter: RateMeter;

  constructor(limits: AgentLimits, nowNs: number) {
    this.limits = limits;
    this.#meter = new RateMeter(limits, nowNs);
  }

  /** Errors: USAGE. */
  addThreads(session: object, threads: number): void {
    const taken = this.#of(session);
    checkThreads(sumOf(this.#each((each) => each.threads)) + threads, this.limits);
    taken.threads += threads;
  }

  /** Errors: USAGE. */
  addBytes(session: object, bytes: number): void {
    const taken = this.#of(session);
    checkMemory(sumOf(this.#each((each) => each.bytes)) + bytes, this.limits);
    taken.bytes += bytes;
  }

  /** Records the planned rate of a thread's part of a flow; 0 once it has ended. Errors: USAGE. */
  planRate(session: object, part: string, perSecond: number): void {
    const { rates } = this.#of(session);
    if (perSecond === 0) rates.delete(part);
    else rates.set(part, perSecond);
    checkRate(sumOf(this.#each((each) => sumOf(each.rates.values()))), this.limits);
  }

  /** Counts requests that were sent. Errors: USAGE. */
  sent(requests: number, nowNs: number): void {
    this.#meter.add(requests, nowNs);
  }

  leave(session: object): void {
    this.#taken.delete(session);
  }

  #of(session: object): Taken {
    const taken = this.#taken.get(session) ?? { threads: 0, bytes: 0, rates: new Map() };
    this.#taken.set(session, taken);
    return taken;
  }

  #each(of: (taken: Taken) => number): readonly number[] {
    return [...this.#taken.values()].map(of);
  }
}
