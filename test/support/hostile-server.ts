import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import * as grpc from '@grpc/grpc-js';
import type { EmulatorProfile } from '#emulator/profile/schema.ts';
import { startEmulator } from '#emulator/start-emulator.ts';
import { serviceMethods } from '#triton/wire/proto.ts';
import { listen } from './misbehaving-server.ts';
import { alteredBytes, alteredJson, type OddValue, type Place } from './odd-answers.ts';

/** A field of all answers of a method that is changed, from the answer of this number on. */
export interface Alteration {
  readonly place: Place;
  readonly value: OddValue;
  readonly since: number;
}

/** An emulator behind a server that changes its answers. */
export interface HostileServer {
  readonly grpcUrl: string;
  readonly httpUrl: string;
  readonly metricsUrl: string;
  /** The emulator itself. */
  readonly soundUrl: string;
  /** From now on; returns the number of answers changed by those until now. */
  alter(alterations: readonly Alteration[]): number;
  close(): Promise<void>;
}

export async function startHostileServer(profile: EmulatorProfile): Promise<HostileServer> {
  const emulator = await startEmulator({ profile, traceFile: '/tmp/trace' });
  const script = new Script();
  const front = await startGrpcFront(emulator.grpcUrl, script);
  const http = createServer((asked, answered) => forward(emulator.httpUrl, script, asked, answered));
  const httpPort = await listen(http);
  return {
    grpcUrl: `127.0.0.1:${front.port}`,
    httpUrl: `127.0.0.1:${httpPort}`,
    metricsUrl: emulator.metricsUrl,
    soundUrl: emulator.grpcUrl,
    alter: (alterations) => script.begin(alterations),
    close: async () => {
      front.close();
      http.closeAllConnections();
      http.close();
      await emulator.close();
    },
  };
}

/** What is changed now. */
class Script {
  #alterations: readonly Alteration[] = [];
  readonly #answers = new Map<string, number>();
  #changed = 0;

  begin(alterations: readonly Alteration[]): number {
    const changed = this.#changed;
    this.#alterations = alterations;
    this.#answers.clear();
    this.#changed = 0;
    return changed;
  }

  /** Applies what is due to an answer of the method. */
  play<T>(method: string, answer: T, change: (answer: T, alteration: Alteration) => T): T {
    const due = this.#alterations.filter(({ place }) => place.method === method);
    if (due.length === 0) return answer;
    const number = this.#answers.get(method) ?? 0;
    this.#answers.set(method, number + 1);
    return due
      .filter(({ since }) => number >= since)
      .reduce((changed, alteration) => {
        this.#changed++;
        return change(changed, alteration);
      }, answer);
  }
}

const asTheyAre = (bytes: Buffer): Buffer => bytes;
const UNLIMITED = -1;
const limits = { 'grpc.max_receive_message_length': UNLIMITED, 'grpc.max_send_message_length': UNLIMITED };

async function startGrpcFront(url: string, script: Script): Promise<{ readonly port: number; close(): void }> {
  const client = new grpc.Client(url, grpc.credentials.createInsecure(), limits);
  const server = new grpc.Server(limits);
  const change = (bytes: Buffer, { place, value }: Alteration): Buffer => alteredBytes(bytes, place, value);
  for (const { name, path, requestStream, responseStream } of serviceMethods()) {
    const definition = {
      path,
      requestStream,
      responseStream,
      requestSerialize: asTheyAre,
      requestDeserialize: asTheyAre,
      responseSerialize: asTheyAre,
      responseDeserialize: asTheyAre,
    };
    const unary: grpc.handleUnaryCall<Buffer, Buffer> = (call, done) => {
      client.makeUnaryRequest(path, asTheyAre, asTheyAre, call.request, (error, answer) => {
        if (error) done(error);
        else done(null, script.play(name, answer as Buffer, change));
      });
    };
    const stream: grpc.handleBidiStreamingCall<Buffer, Buffer> = (call) => {
      const forwarded = client.makeBidiStreamRequest(path, asTheyAre, asTheyAre);
      call.on('data', (message: Buffer) => forwarded.write(message));
      call.on('end', () => forwarded.end());
      call.on('cancelled', () => forwarded.cancel());
      forwarded.on('data', (answer: Buffer) => call.write(script.play(name, answer, change)));
      forwarded.on('error', (error) => call.destroy(error));
      forwarded.on('end', () => call.end());
    };
    server.addService({ [name]: definition }, { [name]: responseStream ? stream : unary });
  }
  const port = await new Promise<number>((done, reject) => {
    server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : done(bound),
    );
  });
  return {
    port,
    close: () => {
      client.close();
      server.forceShutdown();
    },
  };
}

const httpMethods: readonly (readonly [path: RegExp, method: string])[] = [
  [/\/infer$/, 'ModelInfer'],
  [/\/stats$/, 'ModelStatistics'],
  [/\/config$/, 'ModelConfig'],
  [/^\/v2\/repository\/index$/, 'RepositoryIndex'],
  [/^\/v2\/trace\/setting$/, 'TraceSetting'],
  [/^\/v2\/systemsharedmemory\/status$/, 'SystemSharedMemoryStatus'],
  [/^\/v2\/cudasharedmemory\/status$/, 'CudaSharedMemoryStatus'],
  [/^\/v2\/models\/[^/]+$/, 'ModelMetadata'],
  [/^\/v2$/, 'ServerMetadata'],
];

function forward(httpUrl: string, script: Script, asked: IncomingMessage, answered: ServerResponse): void {
  const { method, headers, url = '' } = asked;
  const forwarded = request(`http://${httpUrl}${url}`, { method, headers }, (reply) => {
    const parts: Buffer[] = [];
    reply.on('data', (part: Buffer) => parts.push(part));
    reply.on('end', () => {
      const status = reply.statusCode ?? 500;
      const whole = Buffer.concat(parts);
      const name = status === 200 ? httpMethods.find(([path]) => path.test(url))?.[1] : undefined;
      const jsonBytes = Number(reply.headers['inference-header-content-length'] ?? whole.length);
      const before = whole.subarray(0, jsonBytes);
      const json = name === undefined ? before : script.play(name, before, changedJson);
      const body = Buffer.concat([json, whole.subarray(jsonBytes)]);
      const hasTail = reply.headers['inference-header-content-length'] !== undefined;
      answered
        .writeHead(status, {
          ...reply.headers,
          'content-length': body.length,
          ...(hasTail && { 'inference-header-content-length': json.length }),
        })
        .end(body);
    });
  });
  forwarded.on('error', () => answered.destroy());
  asked.pipe(forwarded);
}

const changedJson = (bytes: Buffer, { place, value }: Alteration): Buffer =>
  Buffer.from(JSON.stringify(alteredJson(JSON.parse(bytes.toString()), place, value)) ?? '');
