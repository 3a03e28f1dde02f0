import { TrituneError } from '#base/errors.ts';
import { splitAddresses } from '#triton/wire/address-list.ts';
import { checkedTransport } from '../reply-check.ts';
import type { SharedOutputs } from '../shared-memory/shared-outputs.ts';
import { SharingTransport } from '../shared-memory/sharing-transport.ts';
import type { ReplyCheck, Transport, TransportOptions } from '../types.ts';
import { dividedTransport } from './divided.ts';
import { openGrpcJs } from './grpc-js.ts';
import { openGrpcLean } from './grpc-lean.ts';
import { openGrpcStream } from './grpc-stream.ts';
import { openHttpLean } from './http-lean.ts';
import { redacting } from './redacting-transport.ts';
import { ReadReplies } from './stream-reply.ts';
import { openUndici } from './undici.ts';

export interface OpenOptions extends TransportOptions {
  /** If set, replies are read and checked. */
  readonly check?: ReplyCheck | undefined;
  /**
   * gRPC only: sends requests on long-lived streams, for models with any number of responses to a
   * request.
   */
  readonly streaming?: boolean | undefined;
  /** The place where the server writes outputs instead of sending them. */
  readonly sharedOutputs?: SharedOutputs | undefined;
}

/**
 * Opens a transport to one server, or to several that share the requests (`A,B`). It holds timers
 * and sockets until `close()`. Errors: USAGE for a bad address, or for options that contradict each
 * other.
 */
export function openTransport(protocol: 'grpc' | 'http', { sharedOutputs, check, ...rest }: OpenOptions): Transport {
  const options = { ...rest, readsReplies: rest.readsReplies || check !== undefined };
  const urls = splitAddresses(options.url);
  const plain =
    urls.length > 1
      ? dividedTransport(urls.map((url) => openRedacting(protocol, { ...options, url })))
      : openRedacting(protocol, options);
  const transport = sharedOutputs ? new SharingTransport(plain, sharedOutputs) : plain;
  return check ? checkedTransport(transport, check) : transport;
}

type PlainOptions = Omit<OpenOptions, 'sharedOutputs' | 'check'>;

function openRedacting(protocol: 'grpc' | 'http', options: PlainOptions): Transport {
  const transport = openPlain(protocol, options);
  return options.headers?.length ? redacting(transport, options.headers) : transport;
}

function openPlain(protocol: 'grpc' | 'http', options: PlainOptions): Transport {
  if (options.tensorFormat === 'json') {
    if (protocol === 'grpc') throw usage('gRPC does not support JSON tensors', 'use -i http with --tensor-format json');
    if (options.readsReplies)
      throw usage('replies in JSON cannot be checked', 'use --tensor-format binary, or leave out the expected outputs');
  }
  if (options.streaming) {
    if (protocol === 'http') throw usage('HTTP does not support streaming', 'use -i grpc with --streaming');
    return openGrpcStream({ ...options, replies: options.readsReplies ? () => new ReadReplies() : undefined });
  }
  if (options.readsReplies) return protocol === 'grpc' ? openGrpcJs(options) : openUndici(options);
  return protocol === 'grpc' ? openGrpcLean(options) : openHttpLean(options);
}

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
