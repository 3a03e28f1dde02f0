import { createServer } from 'node:net';
import type { JsonObject } from '#base/json.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { type ServiceMethod, serviceMethods } from '#triton/wire/proto.ts';
import { isFileParameter, type UploadedFiles } from '../models/uploaded-files.ts';
import { type ListeningFront, listen, type ServerContext } from '../server-context.ts';
import {
  cudaRegionMessage,
  logSettingsMessage,
  regionMessage,
  statisticsMessage,
  traceSettingsMessage,
} from '../wire/messages.ts';
import { asProtocolFailure, ProtocolFailure } from '../wire/protocol-failure.ts';
import { GrpcConnection } from './connection.ts';
import { inferMethod, NO_REQUEST, streamInferMethod } from './infer.ts';
import type { GrpcCall, GrpcMethods } from './methods.ts';

/**
 * A gRPC server on the load generator's HTTP/2. Node's own HTTP/2 makes several long-lived objects
 * per call, and the collector's pauses of 4 to 8 ms at 5,000 calls a second would be the slowest
 * requests. Accepts messages of up to 2 GiB, gzip and deflate. Rejects if it cannot listen.
 */
export async function startGrpcServer(methods: GrpcMethods, host: string, port: number): Promise<ListeningFront> {
  const connections = new Set<GrpcConnection>();
  const listener = createServer((socket) => {
    socket.setNoDelay(true);
    const connection = new GrpcConnection(socket, methods);
    connections.add(connection);
    socket.once('close', () => connections.delete(connection));
  });
  const listening = await listen(listener, host, port);
  return {
    port: listening,
    close: async () => {
      const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
      for (const connection of connections) connection.cut();
      await closed;
    },
  };
}

/**
 * Starts the gRPC protocol. Calls that Triton lacks get UNIMPLEMENTED. Rejects if it cannot listen.
 */
export function startGrpcFront(context: ServerContext, host: string, port: number): Promise<ListeningFront> {
  return startGrpcServer(grpcMethods(context), host, port);
}

type Answer = (request: JsonObject) => JsonObject | Promise<JsonObject>;

/** Returns the method for each call, by path on the wire. */
export function grpcMethods(context: ServerContext): GrpcMethods {
  const answers: Record<string, Answer> = { ...modelAnswers(context), ...serverAnswers(context) };
  const methods = new Map<string, (call: GrpcCall) => ReturnType<typeof unary>>();
  for (const method of serviceMethods()) {
    const answer = answers[method.name];
    if (answer) methods.set(method.path, (call) => unary(method, answer, call));
    else if (method.name === 'ModelInfer') methods.set(method.path, inferMethod(context));
    else if (method.name === 'ModelStreamInfer') methods.set(method.path, streamInferMethod(context));
  }
  return methods;
}

function modelAnswers({ repository }: ServerContext): Record<string, Answer> {
  const versioned = (request: JsonObject): [string, string] => [text(request.name), text(request.version)];
  return {
    ModelReady: (request) => ({ ready: repository.isModelReady(...versioned(request)) }),
    ModelMetadata: (request) => repository.metadata(...versioned(request)) as unknown as JsonObject,
    ModelConfig: (request) => ({ config: repository.effectiveConfig(...versioned(request)) as ModelConfig }),
    ModelStatistics: (request) => ({
      model_stats: repository.statistics(...versioned(request)).map(statisticsMessage),
    }),
    RepositoryIndex: (request) => ({
      models: repository.index(request.ready === true).map((entry) => ({ ...entry })),
    }),
    RepositoryModelLoad: async (request) => {
      const { configJson, files } = readLoadParameters(request);
      await repository.load(text(request.model_name), configJson, files);
      return {};
    },
    RepositoryModelUnload: (request) => {
      const { unload_dependents: dependents } = (request.parameters ?? {}) as Record<string, { bool_param?: boolean }>;
      repository.unload(text(request.model_name), dependents?.bool_param === true);
      return {};
    },
  };
}

function serverAnswers(context: ServerContext): Record<string, Answer> {
  const { identity, repository, sharedMemory, traceSettings, logSettings } = context;
  return {
    ServerLive: () => ({ live: true }),
    ServerReady: () => ({ ready: repository.isReady }),
    ServerMetadata: () => ({ ...identity }),
    SystemSharedMemoryStatus: (request) => ({
      regions: Object.fromEntries(
        sharedMemory.status(text(request.name)).map((region) => [region.name, regionMessage(region)]),
      ),
    }),
    SystemSharedMemoryRegister: (request) => {
      const [name, key] = [text(request.name), text(request.key)];
      const [offset, byteSize] = [Number(request.offset ?? 0), Number(request.byte_size ?? 0)];
      sharedMemory.register({ name, key, offset, byteSize });
      return {};
    },
    SystemSharedMemoryUnregister: (request) => {
      sharedMemory.unregister('system', text(request.name));
      return {};
    },
    CudaSharedMemoryStatus: (request) => ({
      regions: Object.fromEntries(
        sharedMemory.cudaStatus(text(request.name)).map((region) => [region.name, cudaRegionMessage(region)]),
      ),
    }),
    CudaSharedMemoryRegister: (request) => {
      const [deviceId, byteSize] = [Number(request.device_id ?? 0), Number(request.byte_size ?? 0)];
      const handle = request.raw_handle instanceof Uint8Array ? request.raw_handle : new Uint8Array();
      sharedMemory.registerCuda({ name: text(request.name), deviceId, byteSize }, handle);
      return {};
    },
    CudaSharedMemoryUnregister: (request) => {
      sharedMemory.unregister('cuda', text(request.name));
      return {};
    },
    TraceSetting: (request) => {
      const model = text(request.model_name);
      repository.checkTraced(model);
      const settings = (request.settings ?? {}) as Record<string, { value?: string[] }>;
      const change = Object.entries(settings).map(([name, { value = [] }]) => [name, value.length > 0 ? value : null]);
      traceSettings.update(model, Object.fromEntries(change));
      return traceSettingsMessage(traceSettings.read(model));
    },
    LogSettings: (request) => {
      const settings = (request.settings ?? {}) as Record<string, { [kind: string]: unknown }>;
      const change = Object.entries(settings).map(([name, setting]) => [name, Object.values(setting)[0]]);
      logSettings.update(
        Object.fromEntries(change),
        (format) => new ProtocolFailure('INVALID_ARGUMENT', `invalid argument for log_format, got: ${format}`),
      );
      return logSettingsMessage(logSettings.read());
    },
  };
}

function unary(method: ServiceMethod, answer: Answer, call: GrpcCall) {
  let request: JsonObject | null = null;
  return {
    message: (bytes: Buffer): void => {
      request = method.requestType.toObject(method.requestType.decode(bytes), { longs: Number });
    },
    done: (): void => {
      const encoded = async (): Promise<Uint8Array> => {
        if (!request) throw new ProtocolFailure('INTERNAL', NO_REQUEST);
        return method.responseType.encode(method.responseType.fromObject(await answer(request))).finish();
      };
      encoded().then(
        (reply) => {
          call.send(reply);
          call.end();
        },
        (error: unknown) => call.fail(asProtocolFailure(error)),
      );
    },
  };
}

function readLoadParameters(request: JsonObject): { configJson: string | undefined; files: UploadedFiles } {
  if (text(request.repository_name) !== '')
    throw new ProtocolFailure('UNIMPLEMENTED', "'repository_name' specification is not supported");
  const parameters = (request.parameters ?? {}) as Record<string, { string_param?: string; bytes_param?: Uint8Array }>;
  const givenFiles = Object.entries(parameters).filter(([name]) => isFileParameter(name));
  const files = new Map(givenFiles.map(([name, { bytes_param = new Uint8Array() }]) => [name, bytes_param]));
  const unknown = Object.keys(parameters).find((key) => key !== 'config' && !files.has(key));
  if (unknown !== undefined) throw new ProtocolFailure('INVALID_ARGUMENT', `unrecognized load parameter '${unknown}'`);
  return { configJson: parameters.config && (parameters.config.string_param ?? ''), files };
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
