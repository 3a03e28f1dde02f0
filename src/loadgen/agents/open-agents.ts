import { TrituneError } from '#base/errors.ts';
import { formatMs } from '#base/format.ts';
import { nsToMs } from '#base/units.ts';
import type { AgentUse, ClientUse, ClientWatch } from '../client/cost.ts';
import type { RequestSet } from '../types.ts';
import type { ThreadGroup } from '../workers/load-thread.ts';
import type { WorkerTransport } from '../workers/messages.ts';
import { joinWorkers, type Workers } from '../workers/workers.ts';
import { AgentConnection } from './agent-connection.ts';
import { AgentThread } from './agent-thread.ts';
import type { ClockEstimate } from './clock-offset.ts';
import type { AgentAccess } from './dial.ts';
import { clientUse } from './message-schemas.ts';

/** Agents that send together, each with this many threads. */
export interface AgentOrder extends AgentAccess {
  /** HOST:PORT of each agent, at least one. */
  readonly addresses: readonly [string, ...string[]];
  readonly threadsEach: number;
}

/**
 * For an agent that is starting at the same moment, and for one that restarts after it was lost.
 */
const FIRST_PATIENCE_MS = 3000;
const LATER_PATIENCE_MS = 10_000;

/**
 * Opens threads on agents, which send straight to the server. All agents must be there, have this
 * version, and have clocks that are known accurately enough. An agent that is lost later fails the
 * flow that it was sending; the next flow reconnects to it. Errors: AGENT_FAILED; USAGE if an
 * agent's limits forbid something.
 */
export async function openAgents(options: AgentOrder, transport: WorkerTransport): Promise<Workers> {
  const groups = options.addresses.map((address) => new AgentGroup(address, options, transport));
  const opened = await Promise.allSettled(groups.map((group) => group.opened));
  const failed = opened.find((each) => each.status === 'rejected');
  if (failed) {
    await Promise.all(groups.map((group) => group.close()));
    throw failed.reason;
  }
  return joinWorkers(groups as [AgentGroup, ...AgentGroup[]]);
}

/** The threads of one agent. */
class AgentGroup implements ThreadGroup {
  readonly #address: string;
  readonly #asked: AgentOrder;
  readonly #transport: WorkerTransport;
  #connection: AgentConnection;
  #threads: readonly AgentThread[] = [];
  /** Numbers of the sets that the connection has. */
  #known = new Set<number>();

  constructor(address: string, options: AgentOrder, transport: WorkerTransport) {
    this.#address = address;
    this.#asked = options;
    this.#transport = transport;
    this.#connection = this.#connect(FIRST_PATIENCE_MS);
  }

  get opened(): Promise<void> {
    return this.#connection.opened;
  }

  threads(): readonly AgentThread[] {
    if (this.#connection.link.fault !== null) this.#connection = this.#connect(LATER_PATIENCE_MS);
    return this.#threads;
  }

  learn(set: number, requests: RequestSet): void {
    if (this.#known.has(set)) return;
    this.#known.add(set);
    this.#connection.learn(set, requests);
  }

  watch(): ClientWatch {
    let started: ClockEstimate = this.#connection.ahead;
    return {
      restart: () => {
        started = this.#connection.ahead;
        this.#connection.whenOpen(() => this.#connection.link.say({ type: 'restart-watch' }));
      },
      read: () => this.#readWatch(started),
      stop: () => undefined,
    };
  }

  async startNullServer(protocol: Parameters<ThreadGroup['startNullServer']>[0]) {
    await this.#connection.opened;
    await this.#connection.link.ask((ask) => ({ type: 'null-server', ask, protocol }));
    return {
      // Each agent has its own null server, at an address that only it knows.
      url: this.#address,
      stop: async () => {
        const { link } = this.#connection;
        if (link.fault === null) await link.ask((ask) => ({ type: 'null-server', ask, protocol: null }));
      },
    };
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  #connect(patienceMs: number): AgentConnection {
    const { threadsEach: count } = this.#asked;
    const threads: AgentThread[] = [];
    const opened = new AgentConnection(
      this.#address,
      this.#asked,
      { transport: this.#transport, count },
      patienceMs,
      (thread, report) => threads[thread]?.take(report),
    );
    for (let index = 0; index < count; index++) threads.push(new AgentThread(opened, index));
    this.#threads = threads;
    this.#known = new Set();
    return opened;
  }

  async #readWatch(started: ClockEstimate): Promise<ClientUse> {
    const connection = this.#connection;
    await connection.opened;
    const read = clientUse.safeParse(await connection.link.ask((ask) => ({ type: 'read-watch', ask })));
    if (!read.success) throw unsure(this.#address, 'its CPU figures are invalid', SAME_VERSION);
    const use = read.data as Omit<ClientUse, 'agents'>;
    const now = connection.ahead;
    const driftNs = now.offsetNs - started.offsetNs;
    if (Math.abs(driftNs) > this.#asked.clockLimitNs + now.uncertaintyNs) {
      throw unsure(
        this.#address,
        `its clock jumped by ${formatMs(nsToMs(driftNs))} during the measurement, which does not count`,
        'find out what changes the clock of that machine (a virtual machine that was moved?), and measure again',
      );
    }
    const { version, cores } = connection.hello;
    const clock = {
      ...connection.timeOfDay(started),
      driftNs,
      driftUncertaintyNs: started.uncertaintyNs + now.uncertaintyNs,
    };
    const agent: AgentUse = { address: this.#address, version, cores, threads: this.#threads.length, clock, use };
    // The resources of this process do not affect the agents.
    const { besideShare: _, host: __, ...shared } = use;
    return { ...shared, agents: [agent] };
  }
}

const SAME_VERSION = 'install the same version of tritune on both machines';

const unsure = (address: string, message: string, hint: string): TrituneError =>
  new TrituneError('AGENT_FAILED', `agent ${address}: ${message}`, hint);
