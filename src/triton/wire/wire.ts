import type { JsonObject } from '#base/json.ts';
import type { CudaMemoryRegion, ModelFiles, SharedMemoryRegion, TraceSettings } from '../types.ts';
import { splitBasePath } from './base-path.ts';
import type { TlsOptions } from './tls.ts';

/** A client's request to a server; each protocol spells it differently. */
export type Operation =
  | { readonly kind: 'live' }
  | { readonly kind: 'ready' }
  | { readonly kind: 'server-metadata' }
  | { readonly kind: 'index' }
  | { readonly kind: 'model-ready'; readonly model: string }
  | { readonly kind: 'model-metadata'; readonly model: string }
  | { readonly kind: 'model-config'; readonly model: string }
  | { readonly kind: 'statistics'; readonly model: string }
  | { readonly kind: 'load'; readonly model: string; readonly configJson?: string; readonly files?: ModelFiles }
  | { readonly kind: 'unload'; readonly model: string }
  | { readonly kind: 'shared-memory-status' }
  | { readonly kind: 'shared-memory-register'; readonly region: SharedMemoryRegion }
  | { readonly kind: 'shared-memory-unregister'; readonly name: string }
  | { readonly kind: 'cuda-memory-status' }
  | { readonly kind: 'cuda-memory-register'; readonly region: CudaMemoryRegion; readonly handle: Uint8Array }
  | { readonly kind: 'cuda-memory-unregister'; readonly name: string }
  | { readonly kind: 'trace-settings'; readonly change: TraceSettings };

/**
 * Returns the load parameters that upload files: `file:VERSION/NAME`, with the bytes in the
 * protocol's spelling.
 */
export const fileParameters = <T>(files: ModelFiles = new Map(), spell: (bytes: Uint8Array) => T): Record<string, T> =>
  Object.fromEntries([...files].map(([name, bytes]) => [`file:${name}`, spell(bytes)]));

/** An HTTP header or gRPC metadata; the name in lower case, the value in ASCII. */
export interface WireHeader {
  readonly name: string;
  readonly value: string;
}

/** TLS, and the headers of each call. */
export interface WireOptions {
  readonly tls?: TlsOptions | undefined;
  readonly headers?: readonly WireHeader[] | undefined;
}

export interface CallLimits {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

const MIB = 2 ** 20;
/** The maximum length of any answer. */
export const MAX_ANSWER_BYTES = 64 * MIB;

/**
 * Returns the maximum length of the answer to an operation: a list of a hundred thousand models
 * takes a sixth of it, a config of thousands of fields a half.
 */
export function answerLimit({ kind }: Operation): number {
  if (kind === 'index') return MAX_ANSWER_BYTES;
  return kind === 'statistics' || kind.endsWith('-memory-status') ? 16 * MIB : MIB;
}

/** Returns the fault of an answer above its limit. */
export const answerTooLong = (limitBytes: number): WireFault =>
  new WireFault('other', `the answer is longer than ${limitBytes / MIB} MiB`);

/**
 * One protocol, without policy. A reply has the fields of the gRPC response message over either
 * protocol, so that one reader serves both. Throws a WireFault, or INTERRUPTED if the signal
 * aborts.
 */
export interface Wire {
  readonly protocol: 'grpc' | 'http';
  /** HOST:PORT */
  readonly url: string;
  call(operation: Operation, limits: CallLimits): Promise<JsonObject>;
  close(): Promise<void>;
}

/**
 * How a call failed. For the kinds up to `other` the server answered with an error, in words that
 * both protocols share. `unreachable`: no answer, or the connection broke. `wrong-protocol`: the
 * address answers, but does not speak this protocol.
 */
export type FaultKind =
  | 'not-found'
  | 'rejected' // HTTP 400, INVALID_ARGUMENT
  | 'failed' // HTTP 500, INTERNAL
  | 'restricted' // the API wants a secret header
  | 'other' // HTTP 503, UNAVAILABLE, and whatever else
  | 'outage' // nobody serves there now: the server is being restarted
  | 'unreachable'
  | 'timeout'
  | 'wrong-protocol'
  | 'tls'; // no TLS with the server, or TLS where we speak none

export class WireFault extends Error {
  override readonly name = 'WireFault';
  readonly kind: FaultKind;
  /** A hint for the user, if the fault itself suggests one. */
  readonly hint: string | undefined;

  constructor(kind: FaultKind, message: string, options?: { cause?: unknown; hint?: string }) {
    super(message, options);
    this.kind = kind;
    this.hint = options?.hint;
  }
}

/** Returns the parts of HOST:PORT, an IPv6 host without its brackets. */
export function hostAndPort(url: string): { readonly host: string; readonly port: number } {
  const { address } = splitBasePath(url);
  const at = address.lastIndexOf(':');
  return { host: address.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(address.slice(at + 1)) };
}

/** True for HOST:PORT, the form of all server addresses here; IPv6 hosts are in brackets. */
export function isHostAndPort(url: string): boolean {
  const port = /^(?:\[[0-9a-fA-F:.]+\]|[^\s:/?#@[\]]+):(\d{1,5})$/.exec(url)?.[1];
  return port !== undefined && Number(port) > 0 && Number(port) < 65_536;
}
