import type { TrituneError } from '../../base/errors.ts';
import type { ClientWatch } from '../client/cost.ts';
import type { NullProtocol, NullServer } from '../client/null-server.ts';
import type { RequestSet } from '../types.ts';
import type { AnswerOf, Answers, Command, Report } from './messages.ts';

/** What a thread says of a flow without being asked. */
export type FlowReport = Exclude<Report, { readonly type: 'answer' | 'failed' | 'observed' }>;

/** One thread that sends, of this process or of an agent. After a fault it does nothing more. All its times are of this process's clock. */
export interface LoadThread {
  /** HOST:PORT of the agent that it belongs to; null for one of this process. */
  readonly agent: string | null;
  /** Why it can go on no more; null while it can. */
  readonly fault: TrituneError | null;
  /** Within this time what it is told reaches it; 0 for one of this process. */
  readonly reachNs: number;
  /** `onReport` receives the thread's reports on the flow, until `ignore`. */
  listen(flow: number, onReport: (report: FlowReport) => void): void;
  ignore(flow: number): void;
  tell(command: Command): void;
  /** The thread's answer. `extraMs`: what the work itself may take. Errors: CLIENT_FAILED, AGENT_FAILED, and those of the work. */
  ask<K extends keyof Answers>(type: K, about: Answers[K], extraMs?: number): Promise<AnswerOf[K]>;
}

/** The threads of one process, with the requests that they know. */
export interface ThreadGroup {
  /** The threads; others than before where those were lost and it can have new ones. */
  threads(): readonly LoadThread[];
  /** Gives the threads a set of requests under a number, unless they have it. */
  learn(set: number, requests: RequestSet): void;
  /** Watches the threads: their CPU time together, the process's beside them, and of all else the thread that is worst off. */
  watch(): ClientWatch;
  /** A server that does nothing, on the machine of the threads; its `url` is for `begin`. Errors: LAUNCH_FAILED, AGENT_FAILED. */
  startNullServer(protocol: NullProtocol): Promise<NullServer>;
  close(): Promise<void>;
}
