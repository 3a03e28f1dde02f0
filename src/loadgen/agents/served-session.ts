import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import type { Clock } from '#base/clock.ts';
import { formatMessage, TrituneError } from '#base/errors.ts';
import type { ClientWatch } from '../client/cost.ts';
import { type NullServer, startNullServer } from '../client/null-server.ts';
import { parseAddress } from '../transports/address.ts';
import type { Answers, ThreadQuestion } from '../workers/messages.ts';
import { startThreads } from '../workers/open-workers.ts';
import type { Thread } from '../workers/thread.ts';
import { watchThreads } from '../workers/watch-threads.ts';
import { checkTarget, formatTarget, plannedRate } from './limits.ts';
import type { ToAgent, ToController } from './protocol.ts';
import { IncomingSet } from './request-sets.ts';
import type { AgentUsage } from './usage.ts';

/** More than a thread needs to answer any immediate question. */
const PREPARE_LIMIT_MS = 120_000;
/** Questions without their answer, … */
const MAX_WAITING = 256;
/** … messages to a thread since its last answer, … */
const MAX_UNANSWERED = 4096;
/** … and flows of a thread that are not drained: a controller has two. */
const MAX_FLOWS = 8;

type Message<K extends ToAgent['type']> = Extract<ToAgent, { readonly type: K }>;
type ToThread = Message<'thread'>['message'];

/** Returns all addresses of a host. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

const systemResolve: Resolve = (host) => lookup(host, { all: true });

/** One thread, and what the controller has begun on it. */
interface ServedThread {
  readonly thread: Thread;
  /** Whether each known flow is drained. The thread forgets drained ones when it begins another. */
  readonly flows: Map<number, { isDrained: boolean; readonly bytes: number }>;
  unanswered: number;
  /** The flow that it began last; nothing awaits late messages of earlier ones. */
  heard: number | null;
}

/** A set of requests, its length in bytes, and the number under which the threads have it. */
interface HeldSet {
  readonly set: number;
  readonly bytes: number;
}

/**
 * The agent's work for one connection of its controller: the threads, their requests, and a null
 * server.
 */
export class ServedSession {
  readonly #say: (message: ToController) => void;
  readonly #onFault: (error: unknown) => void;
  readonly #clock: Clock;
  readonly #usage: AgentUsage;
  readonly #resolve: Resolve;
  #opened = false;
  #threads: readonly ServedThread[] = [];
  #watch: ClientWatch | null = null;
  #nullServer: NullServer | null = null;
  /** Null servers start and stop one after the other. */
  #nullWork: Promise<unknown> = Promise.resolve();
  #incoming: IncomingSet | null = null;
  readonly #held = new Map<string, HeldSet>();
  /** The set of each number of the controller. */
  readonly #sets = new Map<number, HeldSet>();
  #waiting = 0;
  #isClosed = false;

  /**
   * `say` sends to the controller; `onFault` is called when the session can do nothing more for it.
   * `resolve`: how names of servers are resolved, once for each session.
   */
  constructor(
    say: (message: ToController) => void,
    onFault: (error: unknown) => void,
    clock: Clock,
    usage: AgentUsage,
    resolve: Resolve = systemResolve,
  ) {
    this.#say = say;
    this.#onFault = onFault;
    this.#clock = clock;
    this.#usage = usage;
    this.#resolve = resolve;
  }

  /** True while requests are being sent, or are about to be. */
  get isSending(): boolean {
    return this.#threads.some(({ flows }) => [...flows.values()].some(({ isDrained }) => !isDrained));
  }

  /**
   * `heldBytes`: memory of the message, which counts until its work is done. Errors: USAGE if the
   * agent's limits forbid the request; AGENT_FAILED for a message that makes no sense.
   */
  take(message: ToAgent, heldBytes = 0): void {
    switch (message.type) {
      case 'probe':
        this.#say({ type: 'probed', probe: message.probe, atNs: this.#clock.nowNs() });
        return;
      case 'open':
        this.#answer(message.ask, this.#open(message), heldBytes);
        return;
      case 'null-server':
        this.#answer(message.ask, this.#nullServerFor(message), heldBytes);
        return;
      case 'restart-watch':
        this.#watch?.restart();
        return;
      case 'read-watch':
        this.#answer(message.ask, Promise.resolve(this.#watch?.read() ?? null), heldBytes);
        return;
      case 'requests':
        if (this.#threads.length === 0) throw outOfOrder('requests come before the threads run');
        if (this.#incoming !== null) throw outOfOrder('a set of requests begins within another');
        if (this.#held.has(message.hash)) throw outOfOrder('a set of requests comes twice');
        this.#usage.addBytes(this, message.bytes * (this.#threads.length + 1));
        this.#incoming = new IncomingSet(message.hash, message.bytes);
        return;
      case 'piece':
        this.#addPiece(message);
        return;
      case 'learn':
        this.#learn(message);
        return;
      case 'thread':
        this.#direct(message, heldBytes);
        return;
    }
  }

  /** Ends the threads, and with them every connection to a server. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#incoming = null;
    await Promise.all(this.#threads.map(({ thread }) => thread.close()));
    this.#usage.leave(this);
    await this.#nullWork.catch(() => undefined);
    await this.#nullServer?.stop();
  }

  async #open({ transport, threads }: Message<'open'>): Promise<null> {
    if (this.#opened) throw outOfOrder('the threads are started twice');
    this.#opened = true;
    checkTarget(transport, this.#usage.limits);
    const limits = this.#usage.addThreads(this, threads);
    const { host } = parseAddress(formatTarget(transport));
    const addresses = this.#usage.limits.targets === null ? null : await this.#resolveAddresses(host);
    if (this.#isClosed) return null;
    const started = startThreads(
      threads,
      transport,
      {},
      limits.map((each) => ({ ...each, addresses })),
    );
    for (const thread of started) thread.onFault = (fault) => this.#fail(fault);
    this.#threads = started.map((thread) => ({ thread, flows: new Map(), unanswered: 0, heard: null }));
    this.#watch = watchThreads(started);
    return null;
  }

  /** Errors: AGENT_FAILED. */
  async #resolveAddresses(host: string): Promise<readonly LookupAddress[]> {
    try {
      return await this.#resolve(host);
    } catch (error) {
      throw new TrituneError(
        'AGENT_FAILED',
        `it cannot find the server '${host}': ${formatMessage(error)}`,
        'use an address that the machine of the agent can resolve',
      );
    }
  }

  #nullServerFor({ protocol }: Message<'null-server'>): Promise<null> {
    const work = this.#nullWork.then(async () => {
      await this.#nullServer?.stop();
      this.#nullServer = protocol === null || this.#isClosed ? null : await startNullServer(protocol);
      return null;
    });
    // The answer has the fault.
    this.#nullWork = work.catch(() => undefined);
    return work;
  }

  #addPiece({ bytes }: Message<'piece'>): void {
    const incoming = this.#incoming;
    if (incoming === null) throw outOfOrder('a piece of requests belongs to no set');
    const requests = incoming.add(bytes);
    if (requests === null) return;
    this.#incoming = null;
    const set = this.#held.size;
    this.#held.set(incoming.hash, { set, bytes: incoming.bytes });
    for (const { thread } of this.#threads) thread.tell({ type: 'requests', set, requests });
  }

  /** Threads have each set once, under whatever numbers the controller names it. */
  #learn({ hash, set }: Message<'learn'>): void {
    const held = this.#held.get(hash);
    if (held === undefined) throw outOfOrder('a set of requests is not here');
    if ((this.#sets.get(set) ?? held) !== held) throw outOfOrder('a number of a set of requests is used twice');
    if (this.#sets.size >= MAX_UNANSWERED && !this.#sets.has(set)) throw tooMuch('sets of requests');
    this.#sets.set(set, held);
  }

  #direct({ thread: index, message }: Message<'thread'>, heldBytes: number): void {
    const served = this.#threads[index];
    if (served === undefined) throw outOfOrder(`there is no thread ${index}`);
    if (++served.unanswered > MAX_UNANSWERED) throw tooMuch('messages to a thread');
    if (message.type === 'begin') this.#begin(served, index, message);
    else if ('flow' in message) this.#checkFlow(served, message);
    if ('ask' in message) this.#ask(served, index, message, heldBytes);
    else served.thread.tell(message);
  }

  #checkFlow({ flows }: ServedThread, message: ToThread & { readonly flow: number }): void {
    const flow = flows.get(message.flow);
    if (flow === undefined) throw outOfOrder(`the flow of '${message.type}' was not begun`);
  }

  #ask(served: ServedThread, index: number, message: Extract<ToThread, { readonly ask: number }>, heldBytes: number) {
    const { ask, type, ...about } = message;
    const extraMs = type === 'drain' ? (about as Answers['drain']).limitMs : PREPARE_LIMIT_MS;
    const question = type === 'begin' ? this.#forThread(about as Answers['begin']) : about;
    const answer = served.thread
      .ask(type as ThreadQuestion['type'], question as never, extraMs)
      .then((value: unknown) => {
        served.unanswered = 0;
        if (type === 'drain') this.#drained(served, index, (about as Answers['drain']).flow);
        return value;
      });
    this.#answer(ask, answer, heldBytes);
  }

  #begin(served: ServedThread, index: number, about: Answers['begin']): void {
    const { thread, flows } = served;
    const { flow, set, nullServer } = about;
    const held = this.#sets.get(set);
    if (held === undefined) throw outOfOrder('the requests of a flow are not here');
    for (const [old, { isDrained }] of flows) if (isDrained) flows.delete(old);
    if (flows.has(flow)) throw outOfOrder('a flow is begun twice');
    if (flows.size >= MAX_FLOWS) throw tooMuch('flows that are not drained');
    if (nullServer === undefined) this.#usage.planRate(this, `${index}/${flow}`, plannedRate(about));
    // Without a limit for sending to itself, but for what is in flight.
    else plannedRate(about);
    // Beside its copy of the set, a thread holds the encoded requests of each flow until that is
    // drained.
    const { bytes } = held;
    this.#usage.addBytes(this, bytes);
    if (served.heard !== null && !flows.has(served.heard)) thread.ignore(served.heard);
    flows.set(flow, { isDrained: false, bytes });
    served.heard = flow;
    thread.listen(flow, (report) => this.#say({ type: 'thread', thread: index, report }));
  }

  /**
   * Fills in what the agent alone knows: the threads' number of the set, and the address of the
   * null server.
   */
  #forThread(about: Answers['begin']): Answers['begin'] {
    const { set = about.set } = this.#sets.get(about.set) ?? {};
    const nullServer = about.nullServer === undefined ? undefined : (this.#nullServer?.url ?? '127.0.0.1:0');
    return { ...about, set, nullServer };
  }

  #drained({ flows }: ServedThread, index: number, flow: number): void {
    const drained = flows.get(flow);
    if (drained === undefined || drained.isDrained) return;
    drained.isDrained = true;
    this.#usage.planRate(this, `${index}/${flow}`, 0);
    this.#usage.addBytes(this, -drained.bytes);
  }

  #answer(ask: number, value: Promise<unknown>, heldBytes: number): void {
    // Its faults are those of the session.
    value.catch(() => undefined);
    if (++this.#waiting > MAX_WAITING) throw tooMuch('questions without an answer');
    this.#usage.pass(this, heldBytes);
    value.then(
      (outcome) => {
        if (this.#isClosed) return;
        this.#waiting--;
        this.#usage.pass(this, -heldBytes);
        this.#say({ type: 'answer', ask, value: outcome });
      },
      (error: unknown) => this.#fail(error),
    );
  }

  #fail(error: unknown): void {
    if (!this.#isClosed) this.#onFault(error);
  }
}

const outOfOrder = (what: string): TrituneError =>
  new TrituneError(
    'AGENT_FAILED',
    `a message makes no sense: ${what}`,
    'install the same version of tritune on both machines',
  );

const tooMuch = (what: string): TrituneError =>
  new TrituneError('USAGE', `it was sent too many ${what} at once`, 'wait for the answers of the agent');
