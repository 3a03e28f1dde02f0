import { withDeadline } from '#base/abort.ts';
import { realClock, realClockZeroNs } from '#base/clock.ts';
import { asTrituneError, type TrituneError } from '#base/errors.ts';
import { formatMs } from '#base/format.ts';
import { trituneVersion } from '#base/package.ts';
import { nsToMs } from '#base/units.ts';
import type { AgentClock } from '../client/cost.ts';
import type { RequestSet } from '../types.ts';
import type { ThreadReport, WorkerTransport } from '../workers/messages.ts';
import { AgentLink, type AgentReport, ANSWER_LIMIT_MS, agentFault } from './agent-link.ts';
import { type ClockEstimate, ClockOffset } from './clock-offset.ts';
import type { AgentAccess } from './dial.ts';
import { AGENT_PROTOCOL, PIECE_BYTES, PROBE_EVERY_MS, type ToAgent } from './protocol.ts';
import { encodeSet } from './request-sets.ts';

/** Probes in a row before anything is sent: the fastest of them is close to the shortest path. */
const FIRST_PROBES = 16;

type Hello = Extract<AgentReport, { readonly type: 'hello' }>;

/** Threads to start on the agent. */
interface ThreadOrder {
  readonly transport: WorkerTransport;
  readonly count: number;
}

/**
 * One agent with its own threads for this connection, from the controller's side: its version and
 * cores, its clock offset, and the requests that it has. Messages sent before the connection is
 * open follow once it is.
 */
export class AgentConnection {
  readonly link: AgentLink;
  /**
   * Resolves once the agent and its clock are known, and its threads run. Errors: AGENT_FAILED;
   * USAGE if its limits forbid the threads.
   */
  readonly opened: Promise<void>;
  readonly #access: AgentAccess;
  readonly #onReport: (thread: number, report: ThreadReport) => void;
  readonly #clock = new ClockOffset();
  /** The time when each pending probe was sent. */
  readonly #probes = new Map<number, number>();
  #probed = 0;
  #prober: NodeJS.Timeout | undefined;
  /** Hashes of the request sets that the agent holds. */
  readonly #hashes = new Set<string>();
  /** Work that waits for the opening; null once open. */
  #queue: (() => void)[] | null = [];
  #hello: Hello | null = null;
  /** Ends the current step of the opening. */
  #onStep: () => void = () => undefined;

  /**
   * `threads`: null to look at the agent only. `patienceMs`: time to wait for an agent that is not
   * there. `onReport` gets the threads' reports, with times of the agent's clock.
   */
  constructor(
    address: string,
    access: AgentAccess,
    threads: ThreadOrder | null,
    patienceMs: number,
    onReport: (thread: number, report: ThreadReport) => void,
  ) {
    this.#access = access;
    this.#onReport = onReport;
    this.link = new AgentLink(
      address,
      (report, nowNs) => this.#take(report, nowNs),
      () => this.#onStep(),
    );
    this.opened = this.#open(threads, patienceMs).catch((error: unknown) => {
      throw this.link.fail(asTrituneError(error));
    });
    // Callers that await it see the fault.
    this.opened.catch(() => undefined);
  }

  /** The agent's description of itself. */
  get hello(): Pick<Hello, 'version' | 'cores'> {
    return this.#hello ?? { version: '', cores: 0 };
  }

  /** How far the agent's clock is ahead of ours now. */
  get ahead(): ClockEstimate {
    return this.#clock.at(realClock.nowNs());
  }

  /** Messages arrive within this time. */
  get reachNs(): number {
    return this.#clock.slowestNs;
  }

  /** The agent's time of day relative to ours, from an estimate of its clock's lead. */
  timeOfDay({ offsetNs, uncertaintyNs }: ClockEstimate): Pick<AgentClock, 'offsetNs' | 'uncertaintyNs'> {
    return { offsetNs: offsetNs + (this.#hello?.wallZeroNs ?? 0) - realClockZeroNs, uncertaintyNs };
  }

  /** Errors: AGENT_FAILED for a clock that is not known accurately enough. */
  checkClock({ uncertaintyNs }: ClockEstimate): void {
    const { clockLimitNs } = this.#access;
    if (uncertaintyNs > clockLimitNs) throw this.link.named(unsureClock(uncertaintyNs, clockLimitNs));
  }

  /** Runs the work once the connection is open, in the order of the calls; never after a fault. */
  whenOpen(work: () => void): void {
    if (this.link.fault !== null) return;
    if (this.#queue !== null) this.#queue.push(work);
    else this.link.guard(work);
  }

  /** Gives the agent's threads a set of requests under a number; sends its content only once. */
  learn(set: number, requests: RequestSet): void {
    this.whenOpen(() => {
      const { hash, bytes } = encodeSet(requests);
      if (!this.#hashes.has(hash)) {
        this.#hashes.add(hash);
        this.link.say({ type: 'requests', hash, bytes: bytes.length });
        for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
          this.link.say({ type: 'piece', bytes: bytes.subarray(at, at + PIECE_BYTES) });
        }
      }
      this.link.say({ type: 'learn', hash, set });
    });
  }

  close(): Promise<void> {
    clearInterval(this.#prober);
    return this.link.close();
  }

  async #open(threads: ThreadOrder | null, patienceMs: number): Promise<void> {
    const greeted = this.#nextStep();
    await this.link.open(this.#access, patienceMs);
    await greeted();
    for (let probe = 0; probe < FIRST_PROBES; probe++) {
      const answered = this.#nextStep();
      this.#probe();
      await answered();
    }
    this.#prober = setInterval(() => this.#probe(), PROBE_EVERY_MS);
    this.checkClock(this.ahead);
    if (threads) {
      const { transport, count } = threads;
      await this.link.ask((ask): ToAgent => ({ type: 'open', ask, transport, threads: count }));
    }
    const waiting = this.#queue ?? [];
    this.#queue = null;
    for (const work of waiting) this.link.guard(work);
  }

  /**
   * Starts the next step of the opening; the returned function waits for it. Errors of that
   * function: AGENT_FAILED.
   */
  #nextStep(): () => Promise<void> {
    const step = new Promise<void>((resolve) => {
      this.#onStep = resolve;
    });
    return async () => {
      await withDeadline(step, ANSWER_LIMIT_MS, () => agentFault('it does not greet', 'see what is at this address'));
      if (this.link.fault) throw this.link.fault;
    };
  }

  #probe(): void {
    if (this.link.fault !== null) {
      clearInterval(this.#prober);
      return;
    }
    const probe = ++this.#probed;
    this.#probes.set(probe, realClock.nowNs());
    this.link.say({ type: 'probe', probe });
  }

  #take(report: AgentReport, nowNs: number): void {
    if (report.type === 'thread') {
      this.#onReport(report.thread, report.report);
      return;
    }
    if (report.type === 'hello') {
      checkVersion(report);
      this.#hello = report;
    } else {
      const sentNs = this.#probes.get(report.probe);
      this.#probes.delete(report.probe);
      if (sentNs !== undefined) this.#clock.add({ sentNs, backNs: nowNs, otherNs: report.atNs });
    }
    this.#onStep();
  }
}

/** Errors: AGENT_FAILED. */
function checkVersion({ protocol, version }: Hello): void {
  if (protocol === AGENT_PROTOCOL && version === trituneVersion) return;
  throw agentFault(
    `it is of tritune ${version}, and this is ${trituneVersion}`,
    'install the same version on both machines: figures of different load generators do not add up',
  );
}

const unsureClock = (uncertaintyNs: number, limitNs: number): TrituneError =>
  agentFault(
    `its clock is known to ± ${formatMs(nsToMs(uncertaintyNs))} only, and ± ${formatMs(nsToMs(limitNs))} is needed`,
    'run tritune nearer to the agents, on a quieter network, or allow more with --agent-clock-limit-ms',
  );
