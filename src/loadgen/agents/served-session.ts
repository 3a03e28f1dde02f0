import type { Clock } from '../../base/clock.ts';
import type { ClientWatch } from '../client/cost.ts';
import { type NullServer, startNullServer } from '../client/null-server.ts';
import type { RequestSet } from '../types.ts';
import type { Answers, Question } from '../workers/messages.ts';
import { startThreads } from '../workers/open-workers.ts';
import type { Thread } from '../workers/thread.ts';
import { watchThreads } from '../workers/watch-threads.ts';
import { checkTarget, plannedRate } from './limits.ts';
import type { ToAgent, ToController } from './protocol.ts';
import { IncomingSet } from './request-sets.ts';
import type { AgentUsage } from './usage.ts';

/** More than a thread needs to answer any immediate question. */
const PREPARE_LIMIT_MS = 120_000;

type Asked<K extends ToAgent['type']> = Extract<ToAgent, { readonly type: K }>;

/** The agent's work for one connection of its controller: the threads, their requests, and a null server. */
export class ServedSession {
  readonly #say: (message: ToController) => void;
  readonly #onFault: (error: unknown) => void;
  readonly #clock: Clock;
  readonly #usage: AgentUsage;
  #threads: readonly Thread[] = [];
  #watch: ClientWatch | null = null;
  #nullServer: NullServer | null = null;
  #incoming: IncomingSet | null = null;
  readonly #sets = new Map<string, RequestSet>();
  /** Flows that are not drained yet, by thread and number. */
  readonly #running = new Set<string>();
  /** The flow that each thread began last; nothing awaits late messages of earlier ones. */
  readonly #heard = new Map<number, number>();
  #isClosed = false;

  /** `say` sends to the controller; `onFault` is called when the session can do nothing more for it. */
  constructor(
    say: (message: ToController) => void,
    onFault: (error: unknown) => void,
    clock: Clock,
    usage: AgentUsage,
  ) {
    this.#say = say;
    this.#onFault = onFault;
    this.#clock = clock;
    this.#usage = usage;
  }

  /** True while requests are being sent, or are about to be. */
  get isSending(): boolean {
    return this.#running.size > 0;
  }

  /** Errors: USAGE if the agent's limits forbid the request; AGENT_FAILED for a message that makes no sense. */
  take(message: ToAgent): void {
    switch (message.type) {
      case 'probe':
        this.#say({ type: 'probed', probe: message.probe, atNs: this.#clock.nowNs() });
        return;
      case 'open':
        this.#open(message);
        return;
      case 'null-server':
        this.#answer(message.ask, this.#nullServerFor(message));
        return;
      case 'restart-watch':
        this.#watch?.restart();
        return;
      case 'read-watch':
        this.#answer(message.ask, Promise.resolve(this.#watch?.read() ?? null));
        return;
      case 'requests':
        this.#usage.addBytes(this, message.bytes * (this.#threads.length + 1));
        this.#incoming = new IncomingSet(message.hash, message.bytes);
        return;
      case 'piece': {
        const set = this.#incoming?.add(message.bytes) ?? null;
        if (set === null || this.#incoming === null) return;
        this.#sets.set(this.#incoming.hash, set);
        this.#incoming = null;
        return;
      }
      case 'learn': {
        const requests = this.#sets.get(message.hash);
        for (const thread of this.#threads) if (requests) thread.tell({ type: 'requests', set: message.set, requests });
        return;
      }
      case 'thread':
        this.#direct(message);
        return;
    }
  }

  /** Ends the threads, and with them every connection to a server. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#usage.leave(this);
    await Promise.all([...this.#threads.map((thread) => thread.close()), this.#nullServer?.stop()]);
  }

  #open({ ask, transport, threads }: Asked<'open'>): void {
    if (this.#threads.length > 0) return;
    checkTarget(transport, this.#usage.limits);
    this.#usage.addThreads(this, threads);
    this.#threads = startThreads(threads, transport);
    for (const thread of this.#threads) thread.onFault = (fault) => this.#fail(fault);
    this.#watch = watchThreads(this.#threads);
    this.#answer(ask, Promise.resolve(null));
  }

  async #nullServerFor({ protocol }: Asked<'null-server'>): Promise<null> {
    const left = this.#nullServer;
    this.#nullServer = protocol === null ? null : await startNullServer(protocol);
    await left?.stop();
    return null;
  }

  #direct({ thread: index, message }: Asked<'thread'>): void {
    const thread = this.#threads[index];
    if (thread === undefined) return;
    if (!('ask' in message)) {
      thread.tell(message);
      return;
    }
    const { ask, type, ...about } = message;
    if (type === 'begin') this.#begin(thread, index, about as Answers['begin']);
    const asked = type === 'begin' ? this.#atOwnNullServer(about as Answers['begin']) : about;
    const extraMs = type === 'drain' ? (about as Answers['drain']).limitMs : PREPARE_LIMIT_MS;
    const answer = thread.ask(type as Question['type'], asked as never, extraMs);
    this.#answer(ask, type === 'drain' ? this.#drained(answer, index, (about as Answers['drain']).flow) : answer);
  }

  #begin(thread: Thread, index: number, about: Answers['begin']): void {
    const { flow, nullServer } = about;
    const isCounted = nullServer === undefined;
    const perSecond = plannedRate(about);
    if (isCounted) this.#usage.planRate(this, `${index}/${flow}`, perSecond);
    this.#running.add(`${index}/${flow}`);
    const before = this.#heard.get(index);
    if (before !== undefined && !this.#running.has(`${index}/${before}`)) thread.ignore(before);
    this.#heard.set(index, flow);
    let counted = 0;
    thread.listen(flow, (report) => {
      this.#say({ type: 'thread', thread: index, report });
      if (report.type !== 'batch' || !isCounted) return;
      const sent = report.sentSoFar - counted;
      counted = report.sentSoFar;
      this.#guard(() => this.#usage.sent(sent, this.#clock.nowNs()));
    });
  }

  /** Fills in the address of the null server: the controller does not know it and may not choose one. */
  #atOwnNullServer(about: Answers['begin']): Answers['begin'] {
    return about.nullServer === undefined ? about : { ...about, nullServer: this.#nullServer?.url ?? '127.0.0.1:0' };
  }

  async #drained(answer: Promise<unknown>, index: number, flow: number): Promise<unknown> {
    const value = await answer;
    this.#running.delete(`${index}/${flow}`);
    this.#usage.planRate(this, `${index}/${flow}`, 0);
    return value;
  }

  #answer(ask: number, value: Promise<unknown>): void {
    value.then(
      (found) => this.#say({ type: 'answer', ask, value: found }),
      (error: unknown) => this.#fail(error),
    );
  }

  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    if (!this.#isClosed) this.#onFault(error);
  }
}
