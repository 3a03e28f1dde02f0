import { checkServerIdentity } from 'node:tls';
import {
  type ChannelCredentials,
  type ChannelOptions,
  Client,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import type { Message } from 'protobufjs';
import { interrupted, throwIfInterrupted } from '#base/abort.ts';
import { TrituneError } from '#base/errors.ts';
import { listed } from '#base/format.ts';
import { splitAuthority } from './authority.ts';
import { saysOutage } from './outage.ts';
import { decodeWithUnknown, listUnknownFields, type ServiceMethod, serviceMethod } from './proto.ts';
import type { TlsOptions } from './tls.ts';
import {
  answerLimit,
  answerTooLong,
  type CallLimits,
  type FaultKind,
  fileParameters,
  hostAndPort,
  MAX_ANSWER_BYTES,
  type Operation,
  type Wire,
  WireFault,
  type WireHeader,
  type WireOptions,
} from './wire.ts';

const UNLIMITED = -1;

/** Returns the gRPC protocol on its own connection. */
export function grpcWire(url: string, { tls, headers = [] }: WireOptions = {}): Wire {
  const security = channelSecurity(url, tls);
  const { authority, others } = splitAuthority(headers);
  const client = new Client(url, security.credentials, {
    ...security.options,
    ...(authority !== undefined && { 'grpc.default_authority': authority }),
    'grpc.max_receive_message_length': MAX_ANSWER_BYTES,
    'grpc.max_send_message_length': UNLIMITED,
    // Finds a restarted server again within a second.
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 1_000,
    'grpc.use_local_subchannel_pool': 1,
    'grpc.enable_http_proxy': 0,
  });
  const metadata = toMetadata(others);
  return {
    protocol: 'grpc',
    url,
    call: async (operation, limits) => {
      const call = toGrpcCall(operation);
      const method = serviceMethod(call.method);
      const message = await unary(client, method, call.request, metadata, {
        ...limits,
        answerBytes: answerLimit(operation),
      });
      if (operation.kind === 'model-config') refuseUnknownFields(message, operation.model);
      return method.responseType.toObject(message, { enums: String, longs: String, bytes: String });
    },
    close: async () => client.close(),
  };
}

/**
 * Returns the library's form of the options. It sends the host as the server's name, which must not
 * be an IP address. So for an IP address it sends another name and looks for the address in the
 * certificate itself.
 */
export function channelSecurity(
  url: string,
  tls: TlsOptions | undefined,
): { readonly credentials: ChannelCredentials; readonly options: ChannelOptions } {
  if (!tls) return { credentials: credentials.createInsecure(), options: {} };
  const { ca = null, cert = null, key = null, verify } = tls;
  const { host } = hostAndPort(url);
  const expected = tls.servername ?? host;
  return {
    credentials: credentials.createSsl(ca, key, cert, {
      rejectUnauthorized: verify,
      checkServerIdentity: (_, certificate) => checkServerIdentity(expected, certificate),
    }),
    options: { 'grpc.ssl_target_name_override': isAddress(expected) ? 'localhost' : expected },
  };
}

/** Returns headers as gRPC metadata. */
export function toMetadata(headers: readonly WireHeader[]): Metadata {
  const metadata = new Metadata();
  // gRPC names of binary values have this ending, and their values are base64 on the wire.
  for (const { name, value } of headers)
    metadata.add(name, name.endsWith('-bin') ? Buffer.from(value, 'base64') : value);
  return metadata;
}

interface GrpcCall {
  readonly method: string;
  readonly request: object;
}

function toGrpcCall(operation: Operation): GrpcCall {
  switch (operation.kind) {
    case 'live':
      return { method: 'ServerLive', request: {} };
    case 'ready':
      return { method: 'ServerReady', request: {} };
    case 'server-metadata':
      return { method: 'ServerMetadata', request: {} };
    case 'index':
      return { method: 'RepositoryIndex', request: {} };
    case 'model-ready':
      return { method: 'ModelReady', request: { name: operation.model } };
    case 'model-metadata':
      return { method: 'ModelMetadata', request: { name: operation.model } };
    case 'model-config':
      return { method: 'ModelConfig', request: { name: operation.model } };
    case 'statistics':
      return { method: 'ModelStatistics', request: { name: operation.model } };
    case 'load': {
      const files = fileParameters(operation.files, (bytes) => ({ bytes_param: bytes }));
      const config = operation.configJson === undefined ? {} : { config: { string_param: operation.configJson } };
      return {
        method: 'RepositoryModelLoad',
        request: { model_name: operation.model, parameters: { ...config, ...files } },
      };
    }
    case 'unload':
      return { method: 'RepositoryModelUnload', request: { model_name: operation.model } };
    case 'shared-memory-status':
      return { method: 'SystemSharedMemoryStatus', request: {} };
    case 'shared-memory-register': {
      const { byteSize: byte_size, ...region } = operation.region;
      return { method: 'SystemSharedMemoryRegister', request: { ...region, byte_size } };
    }
    case 'shared-memory-unregister':
      return { method: 'SystemSharedMemoryUnregister', request: { name: operation.name } };
    case 'cuda-memory-status':
      return { method: 'CudaSharedMemoryStatus', request: {} };
    case 'cuda-memory-register': {
      const { name, deviceId: device_id, byteSize: byte_size } = operation.region;
      const raw_handle = Buffer.from(operation.handle).toString('base64');
      return { method: 'CudaSharedMemoryRegister', request: { name, raw_handle, device_id, byte_size } };
    }
    case 'cuda-memory-unregister':
      return { method: 'CudaSharedMemoryUnregister', request: { name: operation.name } };
    case 'trace-settings': {
      const values = Object.entries(operation.change).map(([name, value]) => [name, { value: [...value] }]);
      return { method: 'TraceSetting', request: { settings: Object.fromEntries(values) } };
    }
  }
}

function unary(
  client: Client,
  method: ServiceMethod,
  request: object,
  metadata: Metadata,
  limits: CallLimits & { readonly answerBytes: number },
): Promise<Message> {
  throwIfInterrupted(limits.signal);
  const { requestType, responseType } = method;
  return new Promise((resolve, reject) => {
    let tooLong: WireFault | undefined;
    const call = client.makeUnaryRequest<Message, Message>(
      method.path,
      (message) => Buffer.from(requestType.encode(message).finish()),
      (bytes) => {
        if (bytes.length <= limits.answerBytes) return decodeWithUnknown(responseType, bytes);
        tooLong = answerTooLong(limits.answerBytes);
        throw tooLong;
      },
      requestType.fromObject({ ...request }),
      metadata,
      { deadline: Date.now() + limits.timeoutMs },
      (error, reply) => {
        limits.signal?.removeEventListener('abort', onAbort);
        if (limits.signal?.aborted) reject(interrupted(limits.signal));
        else if (error) reject(tooLong ?? toFault(error, limits.timeoutMs));
        else resolve(reply as Message);
      },
    );
    const onAbort = (): void => call.cancel();
    limits.signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** The gRPC library's own messages, under codes that servers use too. */
const transportWords =
  /^(No connection established|Connection dropped|Stream refused|Name resolution failed|Channel closed|Call cancelled|Received RST_STREAM)|\bE(CONN[A-Z]+|PIPE|TIMEDOUT|HOSTUNREACH|NOTFOUND)\b/;
/**
 * An HTTP/1 server hangs up on us ("Failed to connect", without an errno); an HTTP/2 server without
 * gRPC answers with a page.
 */
const foreignWords = /Last error: Failed to connect \(|Protocol error|Received HTTP status code|parsing error/i;

function toFault(error: ServiceError, timeoutMs: number): WireFault {
  const words = error.details || error.message;
  if (error.code === status.DEADLINE_EXCEEDED) {
    return new WireFault('timeout', `no answer within ${timeoutMs} ms`, { cause: error });
  }
  const brief = words.replace(
    /^No connection established\. Last error: (Error: )?| \(\d{4}-[^)]*Z\)|\. Resolution note:.*$/g,
    '',
  );
  return new WireFault(toFaultKind(error.code, words), brief, { cause: error });
}

function toFaultKind(code: status, words: string): FaultKind {
  if (saysOutage(status[code], words)) return 'outage';
  if (foreignWords.test(words)) return 'wrong-protocol';
  if (transportWords.test(words)) return 'unreachable';
  // 2.51 also answers UNAVAILABLE for a restricted API.
  if (/\bis restricted, expecting header\b/.test(words)) return 'restricted';
  return faultKinds[code] ?? 'other';
}

const faultKinds: Readonly<Partial<Record<status, FaultKind>>> = {
  [status.NOT_FOUND]: 'not-found',
  [status.INVALID_ARGUMENT]: 'rejected',
  [status.INTERNAL]: 'failed',
};

/**
 * A load replaces the whole config, so it would lose a field that we cannot read back. Over HTTP
 * such fields come by name and are kept.
 */
function refuseUnknownFields(message: Message, model: string): void {
  const unknown = listUnknownFields(message);
  if (unknown.length === 0) return;
  throw new TrituneError(
    'UNSUPPORTED',
    `the config of '${model}' has fields that this version of tritune does not know (${listed(unknown)})`,
    'update tritune, or use -i http, which keeps such fields',
  );
}

const isAddress = (host: string): boolean => /^[\d.]+$/.test(host) || host.includes(':');
