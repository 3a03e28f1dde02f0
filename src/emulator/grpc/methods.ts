import type { Breakage } from '../wire/broken-connection.ts';
import type { ProtocolFailure } from '../wire/protocol-failure.ts';

/**
 * One call as its method sees it. After `end`, `fail` or a broken connection, all other calls do
 * nothing.
 */
export interface GrpcCall {
  /** By name in lower case; the last of several with one name. */
  readonly headers: ReadonlyMap<string, string>;
  /** Sends one message of the answer. */
  send(message: Uint8Array): void;
  /** Ends the answer with status OK. */
  end(): void;
  fail(failure: ProtocolFailure): void;
  /** Breaks the connection of the call. */
  break(how: Breakage): void;
}

/**
 * A method's handling of a call: `message` for each message that arrives, `done` after the last.
 */
export interface CallTaker {
  message(bytes: Buffer): void;
  done(): void;
}

/** By path on the wire. */
export type GrpcMethods = ReadonlyMap<string, (call: GrpcCall) => CallTaker>;
