import { createServer, type Server as NetServer, type Socket } from 'node:net';
import {
  type handleUnaryCall,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type { JsonObject } from '../base/json.ts';
import type { ModelConfig } from '../triton/model-config.ts';
import { serviceMethods } from '../triton/proto.ts';
import type { ServerMetadata } from '../triton/types.ts';
import type { Faults } from './faults.ts';
import { readInferRequest, withRequestId, writeInferResponse } from './grpc-infer-codec.ts';
import { runInfer } from './infer.ts';
import type { InferCall } from './infer-call.ts';
import type { ModelRepository } from './model-repository.ts';
import { asProtocolFailure, ProtocolFailure } from './protocol-failure.ts';
import type { ServedVersion } from './served-version.ts';
import type { SharedMemoryRegistry } from './shared-memory.ts';
import { regionMessage, statisticsMessage } from './wire-messages.ts';

/** What both front ends answer from. */
export interface Backstage {
  readonly identity: ServerMetadata;
  readonly repository: ModelRepository;
  readonly faults: Faults;
  readonly sharedMemory: SharedMemoryRegistry;
}

/** A listening front end. */
export interface Front {
  readonly port: number;
  close(): Promise<void>;
}

/** The gRPC protocol. Calls that the emulator has no answer to get UNIMPLEMENTED. Rejects when it cannot listen. */
export async function startGrpcFront(stage: Backstage, host: string, port: number): Promise<Front> {
  const server = new Server({ 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 });
  const sockets = new Map<string, Socket>();
  server.addService(
    definitionOf(),
    implementationOf(stage, (peer) => sockets.get(peer)?.destroy()),
  );
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  // The listener is our own, so that a fault can cut one connection and `close` cuts them all at once.
  const listener = createServer((socket) => {
    const peer = `${socket.remoteAddress}:${socket.remotePort}`;
    sockets.set(peer, socket);
    socket.once('close', () => sockets.delete(peer));
    socket.setNoDelay(true);
    injector.injectConnection(socket);
  });
  const listening = await listen(listener, host, port);
  return {
    port: listening,
    close: async () => {
      const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
      for (const socket of sockets.values()) socket.destroy();
      server.forceShutdown();
      await closed;
    },
  };
}

/** The port on which the server listens; rejects when the address is taken. */
export function listen(server: NetServer, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve((server.address() as { port: number }).port);
    });
  });
}

type Reply = JsonObject | Promise<JsonObject>;

function definitionOf(): ServiceDefinition {
  const definition: Record<string, ServiceDefinition[string]> = {};
  for (const method of serviceMethods()) {
    const infers = method.name === 'ModelInfer';
    definition[method.name] = {
      path: method.path,
      requestStream: method.requestStream,
      responseStream: method.responseStream,
      requestDeserialize: (bytes: Buffer) =>
        infers
          ? readInferRequest(bytes)
          : method.requestType.toObject(method.requestType.decode(bytes), { longs: Number }),
      requestSerialize: () => Buffer.alloc(0),
      responseSerialize: (reply: JsonObject | Buffer) =>
        Buffer.isBuffer(reply)
          ? reply
          : Buffer.from(method.responseType.encode(method.responseType.fromObject(reply)).finish()),
      responseDeserialize: () => ({}),
    };
  }
  return definition;
}

function implementationOf(stage: Backstage, cut: (peer: string) => void): UntypedServiceImplementation {
  const { repository } = stage;
  const versioned = (request: JsonObject): [string, string] => [text(request.name), text(request.version)];
  const answers: Record<string, (request: JsonObject) => Reply> = {
    ServerLive: () => ({ live: true }),
    ServerReady: () => ({ ready: repository.isReady }),
    ModelReady: (request) => ({ ready: repository.isModelReady(...versioned(request)) }),
    ServerMetadata: () => ({ ...stage.identity }),
    ModelMetadata: (request) => repository.metadata(...versioned(request)) as unknown as JsonObject,
    ModelConfig: (request) => ({ config: repository.effectiveConfig(...versioned(request)) as ModelConfig }),
    ModelStatistics: (request) => ({
      model_stats: repository.statistics(...versioned(request)).map(statisticsMessage),
    }),
    RepositoryIndex: (request) => ({
      models: repository.index(request.ready === true).map((entry) => ({ ...entry })),
    }),
    RepositoryModelLoad: async (request) => {
      await repository.load(text(request.model_name), loadConfigOf(request));
      return {};
    },
    RepositoryModelUnload: (request) => {
      repository.unload(text(request.model_name));
      return {};
    },
    SystemSharedMemoryStatus: (request) => ({
      regions: Object.fromEntries(
        stage.sharedMemory.status(text(request.name)).map((region) => [region.name, regionMessage(region)]),
      ),
    }),
    SystemSharedMemoryRegister: (request) => {
      const [name, key] = [text(request.name), text(request.key)];
      const [offset, byteSize] = [Number(request.offset ?? 0), Number(request.byte_size ?? 0)];
      stage.sharedMemory.register({ name, key, offset, byteSize });
      return {};
    },
    SystemSharedMemoryUnregister: (request) => {
      stage.sharedMemory.unregister(text(request.name));
      return {};
    },
  };
  const unary = Object.entries(answers).map(([name, answer]) => [name, unaryOf(answer)]);
  return { ...Object.fromEntries(unary), ModelInfer: inferOf(stage, cut) };
}

function unaryOf(answer: (request: JsonObject) => Reply): handleUnaryCall<JsonObject, JsonObject> {
  return (call, callback) => {
    new Promise<JsonObject>((resolve) => resolve(answer(call.request))).then(
      (reply) => callback(null, reply),
      (error: unknown) => callback(grpcError(asProtocolFailure(error))),
    );
  };
}

function inferOf(
  stage: Backstage,
  cut: (peer: string) => void,
): handleUnaryCall<ReturnType<typeof readInferRequest>, Buffer> {
  return (call, callback) => {
    const request = call.request;
    runInfer(stage, request, (outcome) => {
      if (outcome.kind === 'dropped') cut(call.getPeer());
      else if (outcome.kind === 'failed') callback(grpcError(outcome.failure));
      else callback(null, withRequestId(encodedAnswer(outcome.served, outcome.batch, request), request.id));
    });
  };
}

function encodedAnswer(served: ServedVersion, batch: number, { outputs, outputPlaces }: InferCall): Buffer {
  const elsewhere = [...outputPlaces.keys()].join(' ');
  const key = outputs.length === 0 ? `grpc ${batch}` : `grpc ${batch} ${outputs.join(' ')} | ${elsewhere}`;
  let encoded = served.encoded.get(key);
  if (!encoded) {
    encoded = {
      body: writeInferResponse(served.signature, served.version, batch, outputs, outputPlaces),
      headerLength: null,
    };
    served.encoded.set(key, encoded);
  }
  return encoded.body;
}

function loadConfigOf(request: JsonObject): string | undefined {
  if (text(request.repository_name) !== '')
    throw new ProtocolFailure('UNIMPLEMENTED', "'repository_name' specification is not supported");
  const parameters = (request.parameters ?? {}) as Record<string, { string_param?: string }>;
  for (const key of Object.keys(parameters)) {
    if (key.startsWith('file:'))
      throw new ProtocolFailure('UNIMPLEMENTED', 'the emulator takes no model files, only a config');
    if (key !== 'config') throw new ProtocolFailure('INVALID_ARGUMENT', `unrecognized load parameter '${key}'`);
  }
  return parameters.config === undefined ? undefined : (parameters.config.string_param ?? '');
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function grpcError(failure: ProtocolFailure): { code: number; details: string } {
  return { code: status[failure.status], details: failure.message };
}
