import type { TrituneError } from '#base/errors.ts';
import type { ClientWatch } from '../client/cost.ts';
import type { NullProtocol, NullServer } from '../client/null-server.ts';
import type { RequestSet } from '../types.ts';
import type { AnswerOf, Answers, ThreadCommand, ThreadReport } from './messages.ts';

/** An unsolicited message of a thread about a flow. */
export type FlowReport = Exclude<ThreadReport, { readonly type: 'answer' | 'failed' | 'observed' }>;

/**
 * One sending thread, of this process or of an agent. After a fault it does nothing more. All its
 * times are on this process's clock.
 */
export interface LoadThread {
  /** HOST:PORT of its agent; null for a thread of this process. */
  readonly agent: string | null;
  /** Why it cannot continue; null while it can. */
  readonly fault: TrituneError | null;
  /** Time within which messages reach it; 0 for a thread of this process. */
  readonly reachNs: number;
  /** `onReport` receives the thread's reports on the flow, until `ignore`. */
  listen(flow: number, onReport: (report: FlowReport) => void): void;
  ignore(flow: number): void;
  tell(command: ThreadCommand): void;
  /**
   * Returns the thread's answer. `extraMs`: time that the work itself may take. Errors:
   * CLIENT_FAILED, AGENT_FAILED, and those of the work.
   */
  ask<K extends keyof Answers>(type: K, about: Answers[K], extraMs?: number): Promise<AnswerOf[K]>;
}

/** The threads of one process, with the requests that they know. */
export interface ThreadGroup {
  /** Returns the threads; new ones if the previous ones were lost and can be replaced. */
  threads(): readonly LoadThread[];
  /** Gives the threads a set of requests under a number, unless they have it. */
  learn(set: number, requests: RequestSet): void;
  /**
   * Watches the threads: their total CPU time, that of the rest of the process, and otherwise the
   * worst thread.
   */
  watch(): ClientWatch;
  /**
   * Starts a server that does nothing on the machine of the threads; its `url` is for `begin`.
   * Errors: LAUNCH_FAILED, AGENT_FAILED.
   */
  startNullServer(protocol: NullProtocol): Promise<NullServer>;
  close(): Promise<void>;
}
