import { z } from 'zod';
import { TrituneError } from '#base/errors.ts';
import type { NullProtocol } from '../client/null-server.ts';
import type { ThreadCommand, ThreadQuestion, ThreadReport, WorkerTransport } from '../workers/messages.ts';
import { decodeMessage } from './codec.ts';
import { commandOrQuestion, figure, reportOfThread, transport, whole } from './message-schemas.ts';

/**
 * The version of the message format. Both sides must have the same tritune version and the same
 * format.
 */
export const AGENT_PROTOCOL = 3;
/** The path for WebSocket connections (RFC 6455) and for a supervisor's probe. */
export const AGENT_PATH = '/agent';
export const HEALTH_PATH = '/healthz';
/**
 * Headers of the connection: the version of the message format, and a random name for the
 * controlling process.
 */
export const PROTOCOL_HEADER = 'tritune-agent-protocol';
export const CONTROLLER_HEADER = 'tritune-controller';

/**
 * The maximum length of a message; requests go in pieces. The longest are those with the arrivals
 * of a trace, of 10 bytes per request.
 */
export const MAX_MESSAGE_BYTES = 64 * 2 ** 20;
export const PIECE_BYTES = 2 ** 20;
/** Interval of clock probes, which also show that the other side is there. */
export const PROBE_EVERY_MS = 250;
/** A side that hears nothing for this long while requests are sent considers the other one lost. */
export const SILENCE_LIMIT_MS = 3000;

/** Messages from a controller to an agent. Times are of the agent's clock. */
export type ToAgent =
  | { readonly type: 'probe'; readonly probe: number }
  /** Starts the threads; sent once. */
  | { readonly type: 'open'; readonly ask: number; readonly transport: WorkerTransport; readonly threads: number }
  /** Starts or ends a server that does nothing. */
  | { readonly type: 'null-server'; readonly ask: number; readonly protocol: NullProtocol | null }
  | { readonly type: 'restart-watch' }
  | { readonly type: 'read-watch'; readonly ask: number }
  /** A set of requests follows in pieces; `hash` is the SHA-256 of its bytes. */
  | { readonly type: 'requests'; readonly hash: string; readonly bytes: number }
  | { readonly type: 'piece'; readonly bytes: Uint8Array }
  /** Gives the threads the set of this hash under this number. */
  | { readonly type: 'learn'; readonly hash: string; readonly set: number }
  | {
      readonly type: 'thread';
      readonly thread: number;
      readonly message: Exclude<ThreadCommand, { readonly type: 'requests' }> | ThreadQuestion;
    };

/** Messages from an agent to its controller. */
export type ToController =
  | {
      readonly type: 'hello';
      readonly protocol: number;
      readonly version: string;
      readonly cores: number;
      /** Unix time in nanoseconds at the zero of the agent's clock. */
      readonly wallZeroNs: number;
    }
  | { readonly type: 'probed'; readonly probe: number; readonly atNs: number }
  | { readonly type: 'answer'; readonly ask: number; readonly value: unknown }
  | { readonly type: 'thread'; readonly thread: number; readonly report: ThreadReport }
  /** The agent does nothing more for this controller. */
  | { readonly type: 'failed'; readonly code: string; readonly message: string; readonly hint: string };

const text = z.string().max(100_000);

/** Messages from a controller, by type. */
export const toAgent = z.discriminatedUnion('type', [
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

/** Reads a message from a controller. Errors: AGENT_FAILED. */
export const readToAgent = (bytes: Uint8Array): ToAgent => checked(toAgent, bytes) as ToAgent;

/** Reads a message from an agent. Errors: AGENT_FAILED. */
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
