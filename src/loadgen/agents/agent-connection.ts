import type { WebSocket } from 'ws';
import { withDeadline } from '../../base/abort.ts';
import { realClock, realClockZeroNs } from '../../base/clock.ts';
import { asTrituneError, type ErrorCode, TrituneError } from '../../base/errors.ts';
import { formatMs } from '../../base/format.ts';
import { MS_PER_S, nsToMs } from '../../base/units.ts';
import { trituneVersion } from '../../base/version.ts';
import type { AgentClock } from '../client/cost.ts';
import type { RequestSet } from '../types.ts';
import type { Report, WorkerTransport } from '../workers/messages.ts';
import { type ClockEstimate, ClockOffset } from './clock-offset.ts';
import { encodeMessage } from './codec.ts';
import { type AgentAccess, dial } from './dial.ts';
import {
  AGENT_PROTOCOL,
  MOST_MESSAGE_BYTES,
  PIECE_BYTES,
  PROBE_EVERY_MS,
  readToController,
  SILENCE_LIMIT_MS,
  type ToAgent,
  type ToController,
} from './protocol.ts';
import { encodeSet } from './request-sets.ts';
import { SilenceWatch } from './silence-watch.ts';

/** An agent that is there answers within this time. */
const ANSWER_LIMIT_MS = 10_000;
/** Probes in a row before anything is sent: the fastest of them is near the shortest way. */
const FIRST_PROBES = 16;

/** Codes that an agent's threads may end with; any other is a fault of the agent. */
const codesOfThreads: readonly ErrorCode[] = [
  'USAGE',
  'UNSUPPORTED',
  'INPUT_INVALID',
  'CLIENT_FAILED',
  'LAUNCH_FAILED',
];

type Hello = Extract<ToController, { readonly type: 'hello' }>;
/** A message with an answer, without its number. */
export type AgentQuestion = ToAgent extends infer M
  ? M extends { readonly ask: number }
    ? Omit<M, 'ask'>
    : never
  : never;

/** Threads to be started on the agent. */
export interface AskedThreads {
  readonly transport: WorkerTransport;
  readonly count: number;
}

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (fault: TrituneError) => void;
}

/**
 * A connection to one agent with threads of its own there, from the controller's side. What is sent before it is open follows when it is. After a
 * fault it does nothing more, and says why.
 */
export class AgentConnection {
  readonly address: string;
  /** Done when the agent is known, its clock too, and its threads run. Errors: AGENT_FAILED; USAGE for what its limits do not allow. */
  readonly opened: Promise<void>;
  readonly #access: AgentAccess;
  readonly #clock = new ClockOffset();
  readonly #waiting = new Map<number, Waiting>();
  readonly #probes = new Map<number, number>();
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #hashes = new Set<string>();
  readonly #onReport: (thread: number, report: Report) => void;
  #silence: SilenceWatch | null = null;
  #socket: WebSocket | null = null;
  #hello: Hello | null = null;
  #queue: (() => void)[] | null = [];
  #asked = 0;
  #fault: TrituneError | null = null;
  #isClosed = false;
  #onProbe: () => void = () => undefined;

  /** `threads`: null for a look at the agent only. `patienceMs`: for an agent that is not there. `onReport` is told what a thread says, with times of the agent's clock. */
  constructor(
    address: string,
    access: AgentAccess,
    threads: AskedThreads | null,
    patienceMs: number,
    onReport: (thread: number, report: Report) => void,
  ) {
    this.address = address;
    this.#access = access;
    this.#onReport = onReport;
    this.opened = this.#open(threads, patienceMs).catch((error: unknown) => {
      this.#fail(this.#named(asTrituneError(error)));
      throw this.#fault;
    });
    // Whoever asks finds the fault.
    this.opened.catch(() => undefined);
  }

  /** Why it can go on no more; null while it can. */
  get fault(): TrituneError | null {
    return this.#fault;
  }

  /** What the agent said of itself. */
  get hello(): Pick<Hello, 'version' | 'cores'> {
    return this.#hello ?? { version: '', cores: 0 };
  }

  /** How far the agent's clock is ahead of ours now. */
  get ahead(): ClockEstimate {
    return this.#clock.at(realClock.nowNs());
  }

  /** Within this time what is sent has come. */
  get reachNs(): number {
    return this.#clock.slowestNs;
  }

  /** The agent's time of day beside ours, by an estimate of how far its clock is ahead. */
  timeOfDay({ offsetNs, uncertaintyNs }: ClockEstimate): Pick<AgentClock, 'offsetNs' | 'uncertaintyNs'> {
    return { offsetNs: offsetNs + (this.#hello?.wallZeroNs ?? 0) - realClockZeroNs, uncertaintyNs };
  }

  /** Errors: AGENT_FAILED for a clock that is less sure than is needed. */
  checkClock({ uncertaintyNs }: ClockEstimate): void {
    if (uncertaintyNs <= this.#access.clockLimitNs) return;
    throw this.#named(
      fault(
        `its clock is known to ± ${formatMs(nsToMs(uncertaintyNs))} only, and ± ${formatMs(nsToMs(this.#access.clockLimitNs))} is needed`,
        'run tritune nearer to the agents, on a quieter network, or allow more with --agent-clock-limit-ms',
      ),
    );
  }

  /** Does the work when the connection is open, in the order of the calls; never after a fault. */
  whenOpen(work: () => void): void {
    if (this.#fault !== null) return;
    if (this.#queue !== null) this.#queue.push(work);
    else this.#guard(work);
  }

  /** To be called when it is open. */
  say(message: ToAgent): void {
    if (this.#fault !== null) return;
    const bytes = encodeMessage(message);
    if (bytes.length <= MOST_MESSAGE_BYTES) this.#socket?.send(bytes, () => undefined);
    else this.#fail(this.#named(tooLong(bytes.length)));
  }

  /** The agent's answer, to be called when it is open. Errors: AGENT_FAILED, and those of the work. */
  ask(question: AgentQuestion, extraMs = 0): Promise<unknown> {
    return this.askWith((ask) => this.say({ ...question, ask } as ToAgent), extraMs);
  }

  /** The same for a question that `send` sends under a number. */
  askWith(send: (ask: number) => void, extraMs: number): Promise<unknown> {
    if (this.#fault !== null) return Promise.reject(this.#fault);
    if (this.#isClosed) return Promise.reject(this.#named(fault('its connection was closed', 'begin anew')));
    const ask = ++this.#asked;
    const answer = new Promise<unknown>((resolve, reject) => this.#waiting.set(ask, { resolve, reject }));
    send(ask);
    return withDeadline(answer, ANSWER_LIMIT_MS + extraMs, () => {
      this.#fail(this.#named(lost(`it answered nothing for ${(ANSWER_LIMIT_MS + extraMs) / MS_PER_S} s`)));
      return this.#fault as TrituneError;
    });
  }

  /** Gives the agent's threads a set of requests under a number; its content travels once. */
  learn(set: number, requests: RequestSet): void {
    this.whenOpen(() => {
      const { hash, bytes } = encodeSet(requests);
      if (!this.#hashes.has(hash)) {
        this.#hashes.add(hash);
        this.say({ type: 'requests', hash, bytes: bytes.length });
        for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
          this.say({ type: 'piece', bytes: bytes.subarray(at, at + PIECE_BYTES) });
        }
      }
      this.say({ type: 'learn', hash, set });
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stop();
    const socket = this.#socket;
    if (socket === null || socket.readyState === socket.CLOSED) return;
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.close();
    const limit = setTimeout(() => socket.terminate(), MS_PER_S);
    await closed;
    clearTimeout(limit);
  }

  async #open(threads: AskedThreads | null, patienceMs: number): Promise<void> {
    const greeted = new Promise<void>((resolve) => {
      this.#onProbe = resolve;
    });
    const rule = { patienceMs, isWanted: () => !this.#isClosed };
    await dial(this.address, this.#access, rule, (socket) => this.#use(socket));
    await this.#within(greeted);
    for (let probe = 0; probe < FIRST_PROBES; probe++) {
      await this.#within(
        new Promise<void>((resolve) => {
          this.#onProbe = resolve;
          this.#probe();
        }),
      );
    }
    this.#timers.push(setInterval(() => this.#probe(), PROBE_EVERY_MS));
    this.checkClock(this.ahead);
    if (threads) await this.ask({ type: 'open', transport: threads.transport, threads: threads.count });
    const waiting = this.#queue ?? [];
    this.#queue = null;
    for (const work of waiting) this.#guard(work);
  }

  #use(socket: WebSocket): void {
    if (this.#isClosed) {
      socket.terminate();
      return;
    }
    this.#socket = socket;
    socket.on('message', (data) => this.#guard(() => this.#take(readToController(data as Buffer))));
    socket.on('close', () => this.#fail(this.#named(lost('its connection broke'))));
    socket.on('error', ({ message }) => this.#fail(this.#named(lost(message))));
    this.#silence = new SilenceWatch(
      realClock,
      () => SILENCE_LIMIT_MS,
      (limitMs) => this.#fail(this.#named(lost(`it said nothing for ${limitMs / MS_PER_S} s`))),
    );
  }

  /** Errors: AGENT_FAILED where it takes too long, or the connection has failed. */
  async #within(step: Promise<void>): Promise<void> {
    await withDeadline(step, ANSWER_LIMIT_MS, () => this.#fault ?? lost('it does not greet'));
    if (this.#fault) throw this.#fault;
  }

  #probe(): void {
    const probe = ++this.#asked;
    this.#probes.set(probe, realClock.nowNs());
    this.say({ type: 'probe', probe });
  }

  #take(message: ToController): void {
    const nowNs = realClock.nowNs();
    this.#silence?.heard();
    switch (message.type) {
      case 'hello':
        this.#greet(message);
        return;
      case 'probed': {
        const sentNs = this.#probes.get(message.probe);
        this.#probes.delete(message.probe);
        if (sentNs !== undefined) this.#clock.add({ sentNs, backNs: nowNs, otherNs: message.atNs });
        this.#onProbe();
        return;
      }
      case 'answer':
        this.#waiting.get(message.ask)?.resolve(message.value);
        this.#waiting.delete(message.ask);
        return;
      case 'thread':
        this.#onReport(message.thread, message.report);
        return;
      case 'failed':
        throw new TrituneError(codeOf(message.code), message.message, message.hint);
    }
  }

  #greet(hello: Hello): void {
    const { protocol, version } = hello;
    if (protocol !== AGENT_PROTOCOL || version !== trituneVersion) {
      throw fault(
        `it is of tritune ${version}, and this is ${trituneVersion}`,
        'install the same version on both machines: figures of different load generators do not add up',
      );
    }
    this.#hello = hello;
    this.#onProbe();
  }

  /** What the other side has sent cannot end this process. */
  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#fail(this.#named(asTrituneError(error)));
    }
  }

  #fail(error: TrituneError): void {
    if (this.#fault !== null || this.#isClosed) return;
    this.#fault = error;
    this.#stop();
    this.#socket?.terminate();
    this.#onProbe();
  }

  #stop(): void {
    this.#silence?.stop();
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
    const error = this.#fault ?? this.#named(fault('its connection was closed', 'begin anew'));
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
    this.#queue = [];
  }

  #named(error: TrituneError): TrituneError {
    const isNamed = error.message.startsWith(`agent ${this.address}: `);
    return isNamed ? error : new TrituneError(error.code, `agent ${this.address}: ${error.message}`, error.hint);
  }
}

const codeOf = (text: string): ErrorCode => codesOfThreads.find((code) => code === text) ?? 'AGENT_FAILED';

const fault = (message: string, hint: string): TrituneError => new TrituneError('AGENT_FAILED', message, hint);

const tooLong = (bytes: number): TrituneError =>
  new TrituneError(
    'UNSUPPORTED',
    `a schedule of ${Math.round(bytes / 2 ** 20)} MiB is too long to be sent to it`,
    'play a shorter part of the trace or the workload',
  );

const lost = (why: string): TrituneError =>
  fault(
    `it was lost: ${why}`,
    'what was being measured does not count: see that the agent runs, start it again if it has ended, and measure again',
  );
