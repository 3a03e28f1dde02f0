import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import { join } from 'node:path';
import { median } from 'simple-statistics';
import { openGrpcJs } from '#loadgen/transports/grpc-js.ts';
import { openGrpcLean } from '#loadgen/transports/grpc-lean.ts';
import { INFER_PATH } from '#loadgen/transports/grpc-status.ts';
import { openHttpLean } from '#loadgen/transports/http-lean.ts';
import { failed, SENT } from '#loadgen/transports/outcome.ts';
import { openUndici } from '#loadgen/transports/undici.ts';
import type { InferRequest, SendOutcome, Transport } from '#loadgen/types.ts';

/**
 * What a request costs over each transport: CPU time of this process per request, and requests per
 * second, in interleaved rounds against one server. Only the ratios mean anything: the rest depends
 * on the machine.
 *
 * `node bench/transports.ts` measures against a null server of its own, and against another with
 * TRITUNE_BENCH_GRPC=HOST:PORT, TRITUNE_BENCH_HTTP=HOST:PORT and TRITUNE_BENCH_MODEL=NAME set.
 */

const CONCURRENCY = Number(process.env.TRITUNE_BENCH_CONCURRENCY ?? 64);
const FLOATS = Number(process.env.TRITUNE_BENCH_FLOATS ?? 64);
const ROUNDS = Number(process.env.TRITUNE_BENCH_ROUNDS ?? 7);
const ROUND_MS = Number(process.env.TRITUNE_BENCH_ROUND_MS ?? 2000);
const TIMEOUT_MS = 10_000;

interface Contender {
  readonly name: string;
  readonly transport: Transport;
  readonly cpuUs: number[];
  readonly perSecond: number[];
}

const request: InferRequest = {
  model: process.env.TRITUNE_BENCH_MODEL ?? 'null',
  version: '',
  batch: 1,
  inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1, FLOATS], raw: new Uint8Array(4 * FLOATS) }],
};

/** Keeps `CONCURRENCY` requests in flight for a while. */
async function measure(transport: Transport, ms: number): Promise<{ cpuUs: number; perSecond: number }> {
  const prepared = transport.prepare(request);
  let ended = 0;
  let open = 0;
  let failure: SendOutcome | undefined;
  const cpu = process.cpuUsage();
  const start = performance.now();
  const end = start + ms;
  await new Promise<void>((resolve) => {
    const next = (): void => {
      open++;
      transport.send(prepared, done);
    };
    const done = (outcome: SendOutcome): void => {
      open--;
      ended++;
      if (!outcome.ok) failure = outcome;
      if (!failure && performance.now() < end) next();
      else if (open === 0) resolve();
    };
    for (let lane = 0; lane < CONCURRENCY; lane++) next();
  });
  if (failure) throw new Error(`a request failed: ${JSON.stringify(failure)}`);
  const { user, system } = process.cpuUsage(cpu);
  return { cpuUs: (user + system) / ended, perSecond: (ended * 1000) / (performance.now() - start) };
}

/**
 * The least that `node:http2` can do: pre-encoded message, no metadata, nothing looked at but the
 * status.
 */
function openNodeHttp2(url: string): Transport {
  const session: ClientHttp2Session = connect(`http://${url}`, { settings: { initialWindowSize: 2 ** 31 - 1 } });
  const encoder = openGrpcLean({ url, timeoutMs: TIMEOUT_MS });
  const headers = { ':method': 'POST', ':path': INFER_PATH, te: 'trailers', 'content-type': 'application/grpc' };
  return {
    prepare: (infer) => encoder.prepare(infer),
    send(prepared, done) {
      const stream = session.request(headers);
      stream.on('trailers', (trailers) => {
        done(trailers['grpc-status'] === '0' ? SENT : failed('status', String(trailers['grpc-message'])));
      });
      stream.on('error', (error) => done(failed('reset', error.message)));
      stream.resume();
      stream.end((prepared as unknown as { body: Buffer }).body);
    },
    async close() {
      session.destroy();
      await encoder.close();
    },
  };
}

async function startNullServer(): Promise<{ url: string; stop(): void }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'null-grpc-server.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout, 'data');
  return { url: `127.0.0.1:${String(line).trim()}`, stop: () => child.kill() };
}

async function main(): Promise<void> {
  const server = process.env.TRITUNE_BENCH_GRPC
    ? { url: process.env.TRITUNE_BENCH_GRPC, stop: () => undefined }
    : await startNullServer();
  const contender = (name: string, transport: Transport): Contender => ({ name, transport, cpuUs: [], perSecond: [] });
  const contenders = [
    contender('gRPC, our own', openGrpcLean({ url: server.url, timeoutMs: TIMEOUT_MS })),
    contender('gRPC, grpc-js', openGrpcJs({ url: server.url, timeoutMs: TIMEOUT_MS })),
    contender('gRPC, node:http2', openNodeHttp2(server.url)),
  ];
  const http = process.env.TRITUNE_BENCH_HTTP;
  if (http) {
    contenders.push(
      contender('HTTP, our own', openHttpLean({ url: http, timeoutMs: TIMEOUT_MS })),
      contender('HTTP, undici', openUndici({ url: http, timeoutMs: TIMEOUT_MS })),
    );
  }

  for (const { transport } of contenders) await measure(transport, ROUND_MS / 2);
  for (let round = 0; round < ROUNDS; round++) {
    for (const { transport, cpuUs, perSecond } of round % 2 === 0 ? contenders : contenders.toReversed()) {
      const figures = await measure(transport, ROUND_MS);
      cpuUs.push(figures.cpuUs);
      perSecond.push(figures.perSecond);
    }
  }
  report(contenders);
  for (const { transport } of contenders) await transport.close();
  server.stop();
}

function report(contenders: readonly Contender[]): void {
  const [ours] = contenders as [Contender];
  console.log(`${CONCURRENCY} in flight, ${FLOATS} floats, ${ROUNDS} interleaved rounds of ${ROUND_MS} ms; medians`);
  for (const { name, cpuUs, perSecond } of contenders) {
    const cpuRatio = median(cpuUs.map((us, round) => us / (ours.cpuUs[round] as number)));
    const rateRatio = median(perSecond.map((rate, round) => (ours.perSecond[round] as number) / rate));
    console.log(
      `${name.padEnd(18)} ${median(cpuUs).toFixed(1).padStart(7)} us CPU/request (${cpuRatio.toFixed(2)} x ours)` +
        `  ${median(perSecond).toFixed(0).padStart(7)}/s (ours ${rateRatio.toFixed(2)} x)`,
    );
  }
}

await main();
