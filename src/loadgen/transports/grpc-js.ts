import {
  type ChannelOptions,
  Client,
  type ClientUnaryCall,
  compressionAlgorithms,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { splitAuthority } from '#triton/wire/authority.ts';
import { channelSecurity, toMetadata } from '#triton/wire/grpc.ts';
import type {
  InferRequest,
  PreparedRequest,
  SendFailureKind,
  SendOutcome,
  Transport,
  TransportOptions,
} from '../types.ts';
import { parseAddress } from './address.ts';
import { type Expirable, RequestDeadlines } from './deadlines.ts';
import { grpcStatusName, INFER_PATH } from './grpc-status.ts';
import { decodeInferReply, encodeInferMessage } from './infer-message.ts';
import { badStatus, CLOSED, failed, timedOut } from './outcome.ts';
import { readReply } from './read-reply.ts';

interface GrpcRequest extends PreparedRequest {
  readonly message: Buffer;
}

const channelOptions = {
  // A load generator counts every attempt: no hidden retry, no proxy, no look-up of a service
  // config.
  'grpc.enable_retries': 0,
  'grpc.enable_http_proxy': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.max_send_message_length': -1,
  // The maximum length of a protobuf message.
  'grpc.max_receive_message_length': 2 ** 31 - 1,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1000,
};

const asIs = (bytes: Buffer): Buffer => bytes;

/** gRPC unary through `@grpc/grpc-js`: the fallback for our own client, and its test oracle. */
export function openGrpcJs(options: TransportOptions): Transport<GrpcRequest> {
  const { gate } = options;
  // The library opens one connection, and another only once that is lost.
  const refusal = gate?.take();
  if (refusal) throw refusal;
  const { credentials, options: security } = channelSecurity(options.url, options.tls);
  const { authority = options.url, others } = splitAuthority(options.headers ?? []);
  const client = new Client(formatTarget(options), credentials, {
    ...channelOptions,
    'grpc.default_authority': authority,
    ...security,
    ...compressionOption(options),
  });
  const deadlines = new RequestDeadlines<Call>(options.timeoutMs);
  const metadata = toMetadata(others);
  let open = true;
  const read = (reply: Uint8Array = new Uint8Array()): SendOutcome =>
    readReply(options.readsReplies, () => decodeInferReply(reply));

  class Call implements Expirable {
    readonly #done: (outcome: SendOutcome) => void;
    readonly #call: ClientUnaryCall;
    #settled = false;

    constructor(prepared: GrpcRequest, done: (outcome: SendOutcome) => void) {
      this.#done = done;
      this.#call = client.makeUnaryRequest(INFER_PATH, asIs, asIs, prepared.message, metadata, (error, reply) => {
        this.settle(error ? toOutcome(error) : read(reply));
      });
      deadlines.add(this);
    }

    settle(outcome: SendOutcome): void {
      if (this.#settled) return;
      this.#settled = true;
      deadlines.remove(this);
      this.#done(outcome);
    }

    end(outcome: SendOutcome): void {
      this.settle(outcome);
      this.#call.cancel();
    }

    expire(): void {
      this.end(timedOut(options.timeoutMs));
    }
  }

  return {
    prepare: (request: InferRequest) => ({ request, message: encodeInferMessage(request) }),
    send(prepared, done) {
      if (open) new Call(prepared, done);
      else done(CLOSED);
    },
    async close() {
      open = false;
      for (const call of deadlines.pending()) call.end(CLOSED);
      deadlines.stop();
      client.close();
      gate?.release();
    },
  };
}

/**
 * The address, or the list of addresses that the gate allows: of one family, because the library
 * takes no other list.
 */
function formatTarget({ url, gate }: TransportOptions): string {
  if (!gate?.addresses) return url;
  const { port } = parseAddress(url);
  const listAddresses = (size: number): readonly string[] =>
    (gate.addresses ?? []).flatMap(({ address, family }) =>
      family === size ? [size === 6 ? `[${address}]:${port}` : `${address}:${port}`] : [],
    );
  const old = listAddresses(4);
  return old.length > 0 ? `ipv4:${old.join(',')}` : `ipv6:${listAddresses(6).join(',')}`;
}

const algorithms = { deflate: compressionAlgorithms.deflate, gzip: compressionAlgorithms.gzip };

const compressionOption = ({ compression }: TransportOptions): ChannelOptions =>
  compression ? { 'grpc.default_compression_algorithm': algorithms[compression] } : {};

/**
 * grpc-js reports connection failures in the same form as a server's status; only the text differs
 * (`subchannel-call.js`, `load-balancer-pick-first.js` and `client.js` of version 1.14).
 */
const ownWords: readonly (readonly [RegExp, SendFailureKind])[] = [
  [/^No connection established.*(Protocol error|Session closed with error)/i, 'malformed'],
  [/^(No connection established|Name resolution failed|Failed to connect)/, 'refused'],
  [/^Received RST_STREAM with code .*(internal client error|without gRPC status)/, 'malformed'],
  [/^(No message received|Too many responses received|Received message larger than max)/, 'malformed'],
  [/^Received HTTP status code 200/, 'malformed'],
  [/^Received RST_STREAM with code/, 'reset'],
  [/^(Connection dropped|Stream refused by server|Call cancelled|Write error|Write failed|Failed to start)/, 'reset'],
  [/^(Bandwidth exhausted or memory limit exceeded|Protocol not secure enough)$/, 'reset'],
  [/^(read|write) E[A-Z]+/, 'reset'],
];

function toOutcome(error: ServiceError): SendOutcome {
  const words = error.code === status.OK ? undefined : ownWords.find(([pattern]) => pattern.test(error.details));
  return words ? failed(words[1], error.details) : badStatus(grpcStatusName(error.code), error.details);
}
