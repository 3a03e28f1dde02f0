import type { PackedHistogram } from '#stats/histogram.ts';
import { LatencyHistogram } from '#stats/histogram.ts';
import { type PackedClassTally, packClasses } from '../class-tally.ts';
import type { ClientUse } from '../client/cost.ts';
import type { EndpointOptions } from '../endpoints/endpoint.ts';
import type { Unserved } from '../flow.ts';
import { SendTally } from '../open-loop.ts';
import type { Part } from '../paced-part.ts';
import type { PlainHttpOptions, PlainHttpRequest } from '../plain-http.ts';
import type { Batch, BatchRule } from '../recorder.ts';
import type { SendOrder } from '../sender.ts';
import { type PackedTokenTally, packTokens } from '../token-tally.ts';
import type { OpenOptions } from '../transports/open.ts';
import type { SocketGate } from '../transports/socket.ts';
import type { RequestHeader, RequestSet } from '../types.ts';
import type { PackedObserved } from './observed-requests.ts';
import type { ThreadLimits } from './send-limits.ts';

/** The start parameters of a thread. */
export interface ThreadSettings {
  readonly transport: WorkerTransport;
  /** `process.hrtime` at the zero of the starter's clock. */
  readonly clockZeroNs: number;
  readonly part: Part;
  /** If absent, nothing limits the thread. */
  readonly limits?: SendingLimits | undefined;
}

/** What a thread may send, and to which addresses. */
export interface SendingLimits extends ThreadLimits {
  readonly addresses: SocketGate['addresses'];
}

/** How a thread opens its own transport. */
export type WorkerTransport = InferTransport | PlainHttpTransport | LanguageTransport;

/** Prompts to a language model. */
export interface LanguageTransport {
  readonly protocol: 'language';
  readonly options: Omit<EndpointOptions, 'gate'>;
  /** If true, every finished request is reported. */
  readonly observes?: boolean | undefined;
}

/** One request to any URL. */
export interface PlainHttpTransport {
  readonly protocol: 'plain-http';
  readonly options: Omit<PlainHttpOptions, 'gate'>;
  readonly request: PlainHttpRequest;
  /** Headers whose values no failure message repeats. */
  readonly secrets: readonly RequestHeader[];
}

/**
 * Options for inference requests. A check is a function and cannot be sent to a thread: `tolerance`
 * replaces it.
 */
export interface InferTransport {
  readonly protocol: 'grpc' | 'http';
  readonly options: Omit<OpenOptions, 'check' | 'readsReplies' | 'gate'>;
  /** If set, replies are checked as by `replyCheck`. */
  readonly tolerance?: number | undefined;
  /** If true, every finished request is reported with its outputs, which costs the thread more. */
  readonly observes?: boolean | undefined;
}

/**
 * Commands to a thread, without an answer. Flows have numbers, so that late messages from an
 * earlier one are recognised.
 */
export type ThreadCommand =
  | { readonly type: 'requests'; readonly set: number; readonly requests: RequestSet }
  | { readonly type: 'start'; readonly flow: number; readonly startNs: number }
  | {
      readonly type: 'record';
      readonly flow: number;
      readonly recording: number;
      readonly rule: BatchRule;
      readonly startNs: number | null;
    }
  | { readonly type: 'stop-recording'; readonly flow: number }
  | { readonly type: 'restart-watch' };

/** Questions to a thread, each with one answer. */
export interface Answers {
  readonly begin: {
    readonly flow: number;
    readonly set: number;
    readonly order: Omit<SendOrder, 'requests'>;
    readonly part: Part;
    /** HOST:PORT of the null server if the flow goes there: in plaintext, unchecked. */
    readonly nullServer: string | undefined;
  };
  /** Closes the sockets to the null server. */
  readonly 'leave-null-server': object;
  readonly 'close-batch': { readonly flow: number };
  readonly 'take-tally': { readonly flow: number };
  readonly drain: { readonly flow: number; readonly limitMs: number };
  readonly 'read-watch': object;
}

/** The thread's answer to each question. */
export interface AnswerOf {
  readonly begin: null;
  readonly 'leave-null-server': null;
  readonly 'close-batch': null;
  readonly 'take-tally': PackedTally | null;
  readonly drain: Drained;
  readonly 'read-watch': ClientUse;
}

export type ThreadQuestion = {
  [K in keyof Answers]: { readonly type: K; readonly ask: number } & Answers[K];
}[keyof Answers];

export interface Drained {
  readonly left: number;
  readonly sent: number;
  readonly mostInFlight: number;
}

/**
 * The state of a thread's share of a flow: totals since it began, never the counts of one batch.
 */
export interface PartState {
  /** Failed requests of the recording, including those of the open batch. */
  readonly failedSoFar: number;
  readonly unserved: Unserved | null;
  readonly due: number | null;
}

/** A message from a thread. */
export type ThreadReport =
  | { readonly type: 'answer'; readonly ask: number; readonly value: unknown }
  | BatchReport
  | { readonly type: 'state'; readonly flow: number; readonly recording: number; readonly state: PartState }
  | { readonly type: 'observed'; readonly requests: readonly PackedObserved[] }
  | { readonly type: 'failed'; readonly code: string; readonly message: string; readonly hint: string };

/** A batch of a thread's share of a flow, and the state of the share at its end. */
export interface BatchReport {
  readonly type: 'batch';
  readonly flow: number;
  readonly recording: number;
  readonly batch: PackedBatch;
  readonly state: PartState;
  /** Requests sent from the start of the flow until the end of the batch. */
  readonly sentSoFar: number;
}

export interface PackedBatch extends Omit<Batch, 'latencies' | 'fromDue' | 'tokens' | 'classes'> {
  readonly latencies: PackedHistogram;
  readonly fromDue: PackedHistogram | null;
  readonly tokens?: PackedTokenTally;
  readonly classes?: readonly PackedClassTally[];
}

export interface PackedTally {
  readonly sent: number;
  readonly late: number;
  readonly dropped: number;
  readonly droppedOf: readonly number[];
  readonly lateness: PackedHistogram;
}

export const packBatch = ({ latencies, fromDue, tokens, classes, ...batch }: Batch): PackedBatch => ({
  ...batch,
  latencies: latencies.pack(),
  fromDue: fromDue?.pack() ?? null,
  ...(tokens && { tokens: packTokens(tokens) }),
  ...(classes && { classes: packClasses(classes) }),
});

export const packTally = ({ sent, late, dropped, droppedOf, lateness }: SendTally): PackedTally => ({
  sent,
  late,
  dropped,
  droppedOf,
  lateness: lateness.pack(),
});

/** Merges the tallies of all threads, and those of each agent's threads. */
export function mergeTallies(
  tallies: readonly { readonly agent: string | null; readonly tally: PackedTally }[],
): SendTally {
  const whole = new SendTally();
  const byAgent = new Map<string, SendTally>();
  for (const { agent, tally } of tallies) {
    addTally(whole, tally);
    if (agent === null) continue;
    const sendTally = byAgent.get(agent) ?? new SendTally();
    byAgent.set(agent, sendTally);
    addTally(sendTally, tally);
  }
  if (byAgent.size > 0) whole.byAgent = byAgent;
  return whole;
}

function addTally(to: SendTally, { sent, late, dropped, droppedOf, lateness }: PackedTally): void {
  to.sent += sent;
  to.late += late;
  to.dropped += dropped;
  droppedOf.forEach((count, index) => {
    to.droppedOf[index] = (to.droppedOf[index] ?? 0) + count;
  });
  to.lateness.merge(LatencyHistogram.unpack(lateness));
}
