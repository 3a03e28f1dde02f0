import { z } from 'zod';
import { TrituneError } from '../../base/errors.ts';
import type { NullProtocol } from '../client/null-server.ts';
import type { Command, Question, Report, WorkerTransport } from '../workers/messages.ts';
import { decodeMessage } from './codec.ts';
import { commandOrQuestion, figure, reportOfThread, transport, whole } from './message-schemas.ts';

/** Both sides are of one version of tritune, and of this form of the messages. */
export const AGENT_PROTOCOL = 1;
/** Where an agent takes connections of WebSocket (RFC 6455), and a probe of a supervisor. */
export const AGENT_PATH = '/agent';
export const HEALTH_PATH = '/healthz';
/** Headers of the connection: the form of the messages, and a random name for the process that controls the agent. */
export const PROTOCOL_HEADER = 'tritune-agent-protocol';
export const CONTROLLER_HEADER = 'tritune-controller';

/** No message is longer; requests go in pieces. The longest are those with the arrivals of a trace, of 10 bytes a request. */
export const MOST_MESSAGE_BYTES = 64 * 2 ** 20;
export const PIECE_BYTES = 2 ** 20;
/** Clock probes go so often, and tell that the other side is there. */
export const PROBE_EVERY_MS = 250;
/** A side that hears nothing for this long while requests are sent takes the other for lost. */
export const SILENCE_LIMIT_MS = 3000;

/** What a controller says to an agent. Times are of the agent's clock. */
export type ToAgent =
  | { readonly type: 'probe'; readonly probe: number }
  /** Starts the threads, once. */
  | { readonly type: 'open'; readonly ask: number; readonly transport: WorkerTransport; readonly threads: number }
  /** Starts a server that does nothing, or ends it. */
  | { readonly type: 'null-server'; readonly ask: number; readonly protocol: NullProtocol | null }
  | { readonly type: 'restart-watch' }
  | { readonly type: 'read-watch'; readonly ask: number }
  /** A set of requests follows in pieces; `hash` is the SHA-256 of its bytes. */
  | { readonly type: 'requests'; readonly hash: string; readonly bytes: number }
  | { readonly type: 'piece'; readonly bytes: Uint8Array }
  /** The threads know the set of this hash under this number. */
  | { readonly type: 'learn'; readonly hash: string; readonly set: number }
  | {
      readonly type: 'thread';
      readonly thread: number;
      readonly message: Exclude<Command, { readonly type: 'requests' }> | Question;
    };

/** What an agent says to its controller. */
export type ToController =
  | {
      readonly type: 'hello';
      readonly protocol: number;
      readonly version: string;
      readonly cores: number;
      /** The Unix time in nanoseconds at the zero of the agent's clock. */
      readonly wallZeroNs: number;
    }
  | { readonly type: 'probed'; readonly probe: number; readonly atNs: number }
  | { readonly type: 'answer'; readonly ask: number; readonly value: unknown }
  | { readonly type: 'thread'; readonly thread: number; readonly report: Report }
  /** It does nothing more for this controller. */
  | { readonly type: 'failed'; readonly code: string; readonly message: string; readonly hint: string };

const text = z.string().max(100_000);

const toAgent = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('probe'), probe: whole }),
  z.strictObject({ type: z.literal('open'), ask: whole, transport, threads: z.int().positive() }),
  z.strictObject({
    type: z.literal('null-server'),
    ask: whole,
    protocol: z.enum(['grpc', 'grpc-stream', 'grpc-text', 'http', 'events']).nullable(),
  }),
  z.strictObject({ type: z.literal('restart-watch') }),
  z.strictObject({ type: z.literal('read-watch'), ask: whole }),
  z.strictObject({ type: z.literal('requests'), hash: text, bytes: whole }),
  z.strictObject({ type: z.literal('piece'), bytes: z.instanceof(Uint8Array) }),
  z.strictObject({ type: z.literal('learn'), hash: text, set: whole }),
  z.strictObject({ type: z.literal('thread'), thread: whole, message: commandOrQuestion }),
]);

const toController = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('hello'),
    protocol: whole,
    version: text,
    cores: z.int().positive(),
    wallZeroNs: figure,
  }),
  z.strictObject({ type: z.literal('probed'), probe: whole, atNs: figure }),
  z.strictObject({ type: z.literal('answer'), ask: whole, value: z.unknown() }),
  z.strictObject({ type: z.literal('thread'), thread: whole, report: reportOfThread }),
  z.strictObject({ type: z.literal('failed'), code: text, message: text, hint: text }),
]);

/** Reads what came from a controller. Errors: AGENT_FAILED. */
export const readToAgent = (bytes: Uint8Array): ToAgent => checked(toAgent, bytes) as ToAgent;

/** Reads what came from an agent. Errors: AGENT_FAILED. */
export const readToController = (bytes: Uint8Array): ToController => checked(toController, bytes) as ToController;

function checked(schema: z.ZodType, bytes: Uint8Array): unknown {
  const read = schema.safeParse(decodeMessage(bytes));
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new TrituneError(
    'AGENT_FAILED',
    `a message is invalid: ${issue?.path.join('.') || 'all of it'}: ${issue?.message ?? ''}`,
    'install the same version of tritune on both machines',
  );
}
