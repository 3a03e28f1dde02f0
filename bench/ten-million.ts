import { realClock } from '#base/clock.ts';
import { MS_PER_S, NS_PER_S, NS_PER_US } from '#base/units.ts';
import { startNullServer } from '#loadgen/client/null-server.ts';
import { type Flow, localFlow } from '#loadgen/flow.ts';
import { openTransport } from '#loadgen/transports/open.ts';
import type { RequestSet } from '#loadgen/types.ts';
import { openWorkers } from '#loadgen/workers/open-workers.ts';
import { LatencyHistogram } from '#stats/histogram.ts';

/**
 * Ten million requests through real sockets to a server that does nothing, recorded as a
 * measurement records them, with the memory of the process over time: it must not grow with the
 * number of requests.
 *
 *   node --expose-gc bench/ten-million.ts TRITUNE_BENCH_REQUESTS=2e6 TRITUNE_BENCH_PROTOCOL=http
 *   TRITUNE_BENCH_THREADS=2 node --expose-gc bench/ten-million.ts
 */

const REQUESTS = Number(process.env.TRITUNE_BENCH_REQUESTS ?? 1e7);
const PROTOCOL = process.env.TRITUNE_BENCH_PROTOCOL === 'http' ? 'http' : 'grpc';
const THREADS = Number(process.env.TRITUNE_BENCH_THREADS ?? 1);
const CONCURRENCY = Number(process.env.TRITUNE_BENCH_CONCURRENCY ?? 64);
const LINES = 20;
const LOOK_MS = 50;
const MIB = 2 ** 20;

const about = { model: 'null', version: '', batch: 1 };
const inputs = [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 64], raw: new Uint8Array(256) }];
const requests: RequestSet = { ...about, requests: [{ ...about, inputs }] };

const server = await startNullServer(PROTOCOL);
const options = { url: server.url, timeoutMs: 10_000 };
const transport = openTransport(PROTOCOL, options);
const workers = THREADS > 1 ? openWorkers(THREADS, { protocol: PROTOCOL, options }) : undefined;
const order = { requests, level: { mode: 'concurrency', value: CONCURRENCY } } as const;
const flow: Flow = workers?.openFlow(order) ?? localFlow(order, { transport, clock: realClock });

let [succeeded, failed] = [0, 0];
const latencies = new LatencyHistogram();
flow.record({ lengthNs: 0.05 * NS_PER_S, minRequests: 1 }, (batch) => {
  succeeded += batch.succeeded;
  failed += batch.failed;
  latencies.merge(batch.latencies);
});

console.log(`${REQUESTS} requests over ${PROTOCOL}, ${CONCURRENCY} in flight, ${THREADS} thread(s)`);
console.log('requests     seconds   requests/s   heap MiB   buffers MiB   RSS MiB');
const startNs = realClock.nowNs();
flow.start();
for (let line = 1; line <= LINES; line++) {
  while (succeeded + failed < (line * REQUESTS) / LINES) {
    await realClock.sleep(LOOK_MS);
    flow.check();
  }
  tell();
}
await flow.drain(MS_PER_S);
await flow.closeBatch();
const micros = (p: number): string => `p${p} ${Math.round(latencies.quantileNs(p / 100) / NS_PER_US)} µs`;
console.log(`${succeeded} succeeded, ${failed} failed; ${[50, 99, 99.9].map(micros).join(', ')}`);
await workers?.close();
await transport.close();
await server.stop();

/** The heap after a collection, where one can be asked for: else it holds garbage too. */
function tell(): void {
  globalThis.gc?.();
  const seconds = (realClock.nowNs() - startNs) / NS_PER_S;
  const { heapUsed, external, rss } = process.memoryUsage();
  const done = succeeded + failed;
  const figures = [
    seconds.toFixed(1),
    Math.round(done / seconds),
    ...[heapUsed, external, rss].map((bytes) => (bytes / MIB).toFixed(1)),
  ];
  const widths = [9, 13, 11, 14, 10];
  console.log(
    String(done).padEnd(11) + figures.map((figure, index) => String(figure).padStart(widths[index] as number)).join(''),
  );
}
