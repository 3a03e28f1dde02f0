import { TrituneError } from '#base/errors.ts';
import type { FlowReport, LoadThread } from '../workers/load-thread.ts';
import type { AnswerOf, Answers, ThreadCommand, ThreadReport } from '../workers/messages.ts';
import type { AgentConnection } from './agent-connection.ts';
import { answerOfThread } from './message-schemas.ts';
import type { ToAgent } from './protocol.ts';
import { commandAhead, reportAhead } from './times.ts';

type ThreadMessage = Extract<ToAgent, { readonly type: 'thread' }>['message'];

/**
 * A thread of an agent, used like a thread of this process. The times of a flow use the estimate of
 * the agent's clock from when the flow began.
 */
export class AgentThread implements LoadThread {
  readonly agent: string;
  readonly #connection: AgentConnection;
  readonly #index: number;
  readonly #listeners = new Map<number, (report: FlowReport) => void>();
  /** How far the agent's clock is ahead, by flow. */
  readonly #aheadNs = new Map<number, number>();

  constructor(connection: AgentConnection, index: number) {
    this.agent = connection.link.address;
    this.#connection = connection;
    this.#index = index;
  }

  get fault(): TrituneError | null {
    return this.#connection.link.fault;
  }

  get reachNs(): number {
    return this.#connection.reachNs;
  }

  listen(flow: number, onReport: (report: FlowReport) => void): void {
    this.#listeners.set(flow, onReport);
  }

  ignore(flow: number): void {
    this.#listeners.delete(flow);
    this.#aheadNs.delete(flow);
  }

  tell(command: ThreadCommand): void {
    // The agent, not the thread, handles sets of requests and the watch.
    if (command.type === 'requests' || command.type === 'restart-watch') return;
    this.#connection.whenOpen(() => {
      const ahead = commandAhead(command, this.#aheadNs.get(command.flow) ?? 0);
      this.#connection.link.say(this.#message(ahead as ThreadMessage));
    });
  }

  async ask<K extends keyof Answers>(type: K, about: Answers[K], extraMs = 0): Promise<AnswerOf[K]> {
    await this.#connection.opened;
    if (type === 'begin') this.#fixClock((about as Answers['begin']).flow);
    const answer = await this.#connection.link.ask(
      (ask) => this.#message({ ...about, type, ask } as ThreadMessage),
      extraMs,
    );
    return this.#checked(type, answer) as AnswerOf[K];
  }

  /** Takes a report of the thread, on its agent's clock. */
  take(report: ThreadReport): void {
    if (report.type !== 'batch' && report.type !== 'state') return;
    this.#listeners.get(report.flow)?.(reportAhead(report, -(this.#aheadNs.get(report.flow) ?? 0)));
  }

  #fixClock(flow: number): void {
    const { ahead } = this.#connection;
    this.#connection.checkClock(ahead);
    this.#aheadNs.set(flow, ahead.offsetNs);
  }

  #message(message: ThreadMessage): ToAgent {
    return { type: 'thread', thread: this.#index, message };
  }

  #checked(type: keyof Answers, answer: unknown): unknown {
    if (type === 'read-watch') return answer;
    const read = answerOfThread[type].safeParse(answer);
    if (read.success) return read.data;
    throw new TrituneError(
      'AGENT_FAILED',
      `agent ${this.agent}: its answer is invalid`,
      'install the same version of tritune on both machines',
    );
  }
}
