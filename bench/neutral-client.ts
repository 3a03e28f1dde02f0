import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { prepareInputs } from '#loadgen/inputs.ts';
import { encodeInferMessage, framed } from '#loadgen/transports/infer-message.ts';
import type { InferRequest } from '#loadgen/types.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import type { TritonClient } from '#triton/types.ts';
import { unpackDebian } from './debian.ts';
import type { ClientReading } from './readings.ts';

const run = promisify(execFile);

const PACKAGES = ['nghttp2-client', 'libnghttp2-14', 'libev4', 'libjemalloc2', 'libc-ares2'];
const METHOD = '/inference.GRPCInferenceService/ModelInfer';
/**
 * A run is so many requests, not so much time: `h2load` cuts off what is under way when its time is
 * over, and Triton 2.51 was gone after such runs, twice. Where no rate is given, a first run tells
 * how many the second takes; the sixth that it begins with does not count.
 */
const USUAL_LENGTH: RunLength = { seconds: 3 };
const FIRST_REQUESTS = 1000;
/** Fewer say nothing of a p99. */
const MIN_REQUESTS = 500;
const WARM_UP = 1 / 6;
const TIMEOUT_MS = 60_000;
/**
 * The server must have answered this share of what the client counted: `h2load` does not look at
 * gRPC's own status.
 */
const MIN_SERVED = 0.98;

/** For how long, about; at so many requests a second, where that is known beforehand. */
interface RunLength {
  readonly seconds: number;
  readonly perSecond?: number;
}

/** What is served there now, under so many requests at once. */
export type NeutralClient = (
  grpcUrl: string,
  model: string,
  concurrency: number,
  length?: RunLength,
) => Promise<ClientReading>;

/**
 * `h2load`, nghttp2's load generator, as a judge that neither side has written and that leaves the
 * machine to the server: it sends one `ModelInfer` of random inputs, over one HTTP/2 connection.
 * Fetched into the directory on first use.
 */
export async function neutralClient(directory: string): Promise<NeutralClient> {
  await unpackDebian(directory, PACKAGES, 'usr/bin/h2load');
  const file = join(directory, 'usr/bin/h2load');
  const env = { ...process.env, LD_LIBRARY_PATH: join(directory, 'usr/lib/x86_64-linux-gnu') };
  return async (grpcUrl, model, concurrency, { seconds, perSecond } = USUAL_LENGTH) => {
    const scratch = await mkdtemp(join(tmpdir(), 'tritune-neutral-'));
    const body = join(scratch, 'body');
    const control = connectGrpc(grpcUrl);
    const send = async (requests: number): Promise<ClientReading> => {
      const log = join(scratch, `${requests}`);
      const load = ['-n', `${requests}`, '-c', '1', '-t', '1', '-m', `${concurrency}`, '-d', body, '--log-file', log];
      const headers = ['-H', 'content-type: application/grpc', '-H', 'te: trailers'];
      await run(file, [...load, ...headers, `http://${grpcUrl}${METHOD}`], { env, timeout: TIMEOUT_MS });
      return readingOf(rowsOf(await readFile(log, 'utf8')));
    };
    try {
      await writeFile(body, await bodyFor(control, model));
      const expected = perSecond ?? (await send(FIRST_REQUESTS)).throughput;
      const requests = Math.max(MIN_REQUESTS, Math.ceil(seconds * expected)) + 1;
      const before = await served(control, model);
      const reading = await send(requests);
      const answered = (await served(control, model)) - before;
      if (answered < MIN_SERVED * requests) throw new Error(`of ${requests} requests ${answered} were served`);
      return reading;
    } finally {
      await control.close();
      await rm(scratch, { recursive: true });
    }
  };
}

async function bodyFor(control: TritonClient, model: string): Promise<Buffer> {
  const [metadata, config] = await Promise.all([control.modelMetadata(model), control.modelConfig(model)]);
  const { requests } = prepareInputs(metadata, config, { kind: 'random', batch: 1, seed: 1 });
  return framed(encodeInferMessage(requests[0] as InferRequest), undefined);
}

async function served(control: TritonClient, model: string): Promise<number> {
  const versions = await control.statistics(model);
  return versions.reduce((sum, { success }) => sum + success.count, 0);
}

/** A request by `h2load`'s log: when it began, in microseconds since 1970, and how long it took. */
interface Row {
  readonly begunUs: number;
  readonly tookUs: number;
}

function rowsOf(log: string): Row[] {
  const lines = log.trim().split('\n');
  return lines.map((line) => {
    const [begunUs = Number.NaN, status, tookUs = Number.NaN] = line.split('\t').map(Number);
    if (status !== 200) throw new Error(`a request ended with ${status}`);
    return { begunUs, tookUs };
  });
}

function readingOf(rows: readonly Row[]): ClientReading {
  const ended = rows
    .map(({ begunUs, tookUs }) => ({ endUs: begunUs + tookUs, tookUs }))
    .sort((a, b) => a.endUs - b.endUs);
  const [first, ...counted] = ended.slice(Math.floor(WARM_UP * ended.length));
  const seconds = ((counted.at(-1)?.endUs ?? Number.NaN) - (first?.endUs ?? Number.NaN)) / 1e6;
  const tookUs = counted.map((row) => row.tookUs).sort((a, b) => a - b);
  return {
    throughput: counted.length / seconds,
    p99Ms: (tookUs[Math.ceil(0.99 * tookUs.length) - 1] ?? Number.NaN) / 1e3,
  };
}
