import type { RequestLimits } from '#queueing/continuous/request-limits.ts';
import type { TlsOptions } from '#triton/wire/tls.ts';
import type { Prompt } from './prompts/prompt.ts';
import type { TokenReply } from './token-reply.ts';
import type { SocketGate } from './transports/socket.ts';

/**
 * The load level: `concurrency` keeps this number of requests in flight (closed loop),
 * `request-rate` sends this number per second (open loop).
 */
export interface LoadLevel {
  readonly mode: 'concurrency' | 'request-rate';
  readonly value: number;
  /**
   * Samples per request (the client batch), if the study varies it; absent if all its requests have
   * the same number.
   */
  readonly batch?: number;
}

/**
 * One tensor of a request, in KServe v2's raw form: little-endian, row-major; BYTES elements with a
 * 4-byte length each.
 */
export interface RequestTensor {
  readonly name: string;
  readonly datatype: string;
  /** Includes the batch dimension if the model has one. */
  readonly shape: readonly number[];
  readonly raw: Uint8Array;
  /** Place of the values in shared memory. They are then not sent, and `raw` may be empty. */
  readonly shared?: SharedPlace;
}

/** Part of a region that is registered with the server. */
export interface SharedPlace {
  readonly region: string;
  /** Offset in the region. */
  readonly offset: number;
  readonly byteSize: number;
}

/** An output that the server writes into shared memory. */
export interface SharedOutput {
  readonly name: string;
  readonly shared: SharedPlace;
}

/** A request. A transport encodes it once and sends it many times. */
export interface InferRequest {
  readonly model: string;
  /** '' lets the server choose. */
  readonly version: string;
  readonly inputs: readonly RequestTensor[];
  /** Samples in one request: the client batch. */
  readonly batch: number;
  /** Parameters for the model or the server, sent with the tensors. */
  readonly parameters?: readonly RequestParameter[];
  /**
   * The only requested outputs, and where they are written; without it the reply has all outputs.
   */
  readonly sharedOutputs?: readonly SharedOutput[];
  /**
   * The expected outputs of each reply, in order, for transports that check replies; absent if any
   * replies are right.
   */
  readonly expected?: readonly ReplyOutputs[];
  /**
   * The prompt for a language model, for the transports of its endpoints; the request then has no
   * inputs.
   */
  readonly prompt?: Prompt;
  /**
   * The body of this request to a plain HTTP server, if it is not that of the transport; the
   * request then has no inputs.
   */
  readonly body?: Uint8Array;
}

/** A request parameter of KServe v2. An `int` is a safe integer. */
export type RequestParameter = { readonly name: string } & (
  | { readonly type: 'bool'; readonly value: boolean }
  | { readonly type: 'int' | 'double'; readonly value: number }
  | { readonly type: 'string'; readonly value: string }
);

/**
 * One output of a reply, in KServe v2's raw form; empty if the server wrote it into shared memory.
 */
export interface OutputTensor {
  readonly name: string;
  readonly datatype: string;
  readonly raw: Uint8Array;
  /** The shape stated in the reply, if any. */
  readonly shape?: readonly number[];
}

/**
 * The outputs of one reply; only a decoupled model may give several replies to a request, or none.
 */
export type ReplyOutputs = readonly OutputTensor[];

/** A request class: counted separately, with its own limits. */
export interface RequestClass {
  readonly name: string;
  /**
   * Limits of a good request of the class; default: those of the whole order. Without any limits
   * every success is good.
   */
  readonly limits?: RequestLimits;
  /** Number of its requests in the set; at least one. */
  readonly requests: number;
}

/** The requests that are sent in turn, repeatedly: at least one, all for one model. */
export interface RequestSet {
  readonly model: string;
  readonly version: string;
  /** Samples per request; if classes differ, the mean over the requests as sent. */
  readonly batch: number;
  /** Grouped by class, in the order of the classes, if there are classes. */
  readonly requests: readonly InferRequest[];
  /** Number of requests of each stream, in their order; absent: one stream. */
  readonly streamLengths?: readonly number[];
  /** Absent if all requests are of one kind. */
  readonly classes?: readonly RequestClass[];
  /**
   * The streams are conversations with a language model: each turn follows the reply of the one
   * before, and has it in its history.
   */
  readonly holdsConversations?: true;
  /** The server executes each request several times, and counts it each time. */
  readonly isRescheduled?: true;
}

/**
 * How one request ended. `kind` groups failures; `message` has the server's or the socket's own
 * words; `status`, with kind 'status' only, is the protocol's name for the server's answer:
 * NOT_FOUND over gRPC, 404 over HTTP.
 */
export type SendOutcome = SendSuccess | SendFailure;

export interface SendSuccess {
  readonly ok: true;
  /**
   * The parts of this request's time; only for sampled requests, and only if the transport was
   * asked for them.
   */
  readonly times?: ClientTimes;
  /** Responses to a request of a model with any number of them, without an empty final one. */
  readonly responses?: number;
  /**
   * The replies with outputs, in order; only if the transport reads them. The values are valid only
   * until the call ends.
   */
  readonly replies?: readonly ReplyOutputs[];
  /** The request was the last of its sequence. */
  readonly endsSequence?: true;
  /** The reply of a request over plain HTTP. */
  readonly reply?: HttpReply;
  /** The streamed reply of a language model. */
  readonly tokens?: TokenReply;
}

/** A whole reply over plain HTTP, of any status; times in nanoseconds. */
export interface HttpReply {
  readonly status: number;
  /** Without head and framing. */
  readonly bodyBytes: number;
  /** From the writing of the request to the first byte, and from there to the last. */
  readonly waitNs: number;
  readonly readNs: number;
  /**
   * Times of the connections opened since the previous reply: name resolution, and everything until
   * they can be written to.
   */
  readonly lookupsNs: readonly number[];
  readonly connectsNs: readonly number[];
}

/**
 * The time of one request as the client sees it, in nanoseconds and in this order, without gaps. A
 * reply is read as it arrives: work on its earlier pieces counts in `receiveNs`.
 */
export interface ClientTimes {
  /**
   * Time to make the request's bytes for the wire. Bodies are encoded once, before the traffic;
   * HTTP/2 frames are made for each request.
   */
  readonly marshalNs: number;
  /** Until the kernel has taken the last of them. */
  readonly sendNs: number;
  /** Until the first bytes of the reply have arrived. */
  readonly waitNs: number;
  /** Until the last bytes have arrived. */
  readonly receiveNs: number;
  /** Time to read the last bytes, after those that arrived with them for other requests. */
  readonly unmarshalNs: number;
}

export interface SendFailure {
  readonly ok: false;
  readonly kind: SendFailureKind;
  readonly message: string;
  readonly status?: string;
  /** The answer says that nobody serves at the address now, whatever the request. */
  readonly isOutage?: boolean;
}

/**
 * `cut-off`: a streamed reply ended before it was marked complete; `empty`: it was complete but had
 * no output.
 */
export type SendFailureKind =
  | 'status'
  | 'timeout'
  | 'reset'
  | 'refused'
  | 'malformed'
  | 'mismatch'
  | 'cut-off'
  | 'empty';

/** A request in the transport's own wire form. */
export interface PreparedRequest {
  readonly request: InferRequest;
}

/**
 * Sends prepared requests to one server. `send` never throws and calls `done` exactly once,
 * whatever the server does, at the latest when the request's timeout passes. It may call `done`
 * from within `send` only for failures known at once.
 */
export interface RequestSender<P> {
  send(prepared: P, done: (outcome: SendOutcome) => void): void;
  /** Ends every request in flight with a failure and closes the sockets. */
  close(): Promise<void>;
}

/** A sender of inference requests. */
export interface Transport<P extends PreparedRequest = PreparedRequest> extends RequestSender<P> {
  prepare(request: InferRequest): P;
}

/** An HTTP header or gRPC metadata; the name is in lower case. */
export interface RequestHeader {
  readonly name: string;
  readonly value: string;
}

/**
 * Checks the replies to a request: returns null if they are right, or else the outcome of the
 * request.
 */
export type ReplyCheck = (request: InferRequest, replies: readonly ReplyOutputs[]) => SendFailure | null;

export type TensorFormat = 'binary' | 'json';

/** Compression of request bodies. */
export type Compression = 'gzip' | 'deflate';

export interface TransportOptions {
  /** HOST:PORT */
  readonly url: string;
  readonly timeoutMs: number;
  /** Sent with every request. */
  readonly headers?: readonly RequestHeader[] | undefined;
  /**
   * If true, replies are read, by transports that cost more than the lean ones, which never look
   * into a good reply.
   */
  readonly readsReplies?: boolean | undefined;
  /** If absent, connections are in plaintext. */
  readonly tls?: TlsOptions | undefined;
  /** Compression of requests; the server decides how to compress its replies. */
  readonly compression?: Compression | undefined;
  /** If true, the lean transports time a sample of the requests. */
  readonly timesRequests?: boolean | undefined;
  /** Format of tensors over HTTP, in both directions; binary if absent. */
  readonly tensorFormat?: TensorFormat | undefined;
  /** If set, it decides about every socket. */
  readonly gate?: SocketGate | undefined;
}
