import type { Breakage } from '../wire/broken-connection.ts';
import type { ProtocolFailure } from '../wire/protocol-failure.ts';

/** One call as its method sees it. After `end`, `fail` or a broken connection, everything else does nothing. */
export interface GrpcCall {
  /** By name, in lower case; of several with one name the last. */
  readonly headers: ReadonlyMap<string, string>;
  /** Sends one message of the answer. */
  send(message: Uint8Array): void;
  /** Ends the answer with status OK. */
  end(): void;
  fail(failure: ProtocolFailure): void;
  /** Breaks the connection that the call came by. */
  break(how: Breakage): void;
}

/** What a method does with a call: `message` for each message that comes, `done` when no more will. */
export interface CallTaker {
  message(bytes: Buffer): void;
  done(): void;
}

/** By the path on the wire. */
export type GrpcMethods = ReadonlyMap<string, (call: GrpcCall) => CallTaker>;
