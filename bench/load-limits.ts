import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { openAlarm } from '#base/alarm.ts';
import { realClock } from '#base/clock.ts';
import { MS_PER_S, NS_PER_S, NS_PER_US } from '#base/units.ts';
import { ClosedLoop } from '#loadgen/closed-loop.ts';
import { OpenLoop } from '#loadgen/open-loop.ts';
import { constantRate } from '#loadgen/pacers.ts';
import { type Batch, Recorder } from '#loadgen/recorder.ts';
import { requestCycle } from '#loadgen/request-turns.ts';
import { openTransport } from '#loadgen/transports/open.ts';
import type { Transport } from '#loadgen/types.ts';
import { limitedSends, newSendLimits, SendThrottle } from '#loadgen/workers/send-limits.ts';

/**
 * What one thread of the load generator holds, against a gRPC server that does nothing: requests in
 * flight, rate, size of a request, and memory over time. `npm run bench:load-limits`; each run has
 * a process of its own. `TRITUNE_BENCH_MINUTES` (3) is the time for which memory is watched;
 * `limit-cost` as argument measures only the last figure.
 */
const MINUTES = Number(process.env.TRITUNE_BENCH_MINUTES ?? 3);
const IN_FLIGHT = [1_000, 10_000, 50_000, 100_000, 200_000];
const RATES = [10_000, 20_000, 30_000, 40_000, 60_000, 80_000];
const SIZES_MIB = [1, 16, 64, 256, 1024];
/** Replies take this long where many are to be in flight. */
const HOLD_MS = 2_000;
const SETTLE_MS = 1_000;
const RUN_MS = 5_000;
const DRAIN_MS = 10_000;
const TIMEOUT_MS = 30_000;
const ROUNDS = 9;
const SENDS = 5_000_000;
const MIB = 2 ** 20;

/** One run. */
interface Order {
  readonly url: string;
  readonly bytes: number;
  readonly concurrency?: number;
  readonly perSecond?: number;
  readonly runMs: number;
  readonly settleMs: number;
}

interface Seen {
  readonly seconds: number;
  readonly perSecond: number;
  readonly failed: number;
  readonly mostInFlight: number;
  readonly lateShare: number;
  readonly droppedShare: number;
  readonly cpuUs: number;
  readonly mostMiB: number;
  /** Growth of the memory in use, by a line through its readings. */
  readonly growthMiBPerHour: number;
}

async function runOnce(order: Order): Promise<Seen> {
  const input = { name: 'INPUT0', datatype: 'UINT8', shape: [order.bytes], raw: new Uint8Array(order.bytes) };
  const request = { model: 'null', version: '', batch: 1, inputs: [input] };
  const requests = { model: 'null', version: '', batch: 1, requests: [request] };
  const transport = openTransport('grpc', { url: order.url, timeoutMs: TIMEOUT_MS });
  const recorder = new Recorder({ reuses: true });
  const target = { transport, nextRequest: requestCycle(transport, requests), recorder };
  const readings: { readonly hours: number; readonly mib: number }[] = [];
  const startMs = performance.now();
  const sampler = setInterval(() => {
    const hours = (performance.now() - startMs) / 3_600_000;
    readings.push({ hours, mib: process.memoryUsage.rss() / MIB });
  }, 500);
  const loop =
    order.perSecond === undefined
      ? new ClosedLoop(transport, target, recorder, realClock)
      : new OpenLoop(target, { clock: realClock, alarm: openAlarm() }, constantRate(order.perSecond), {
          maxInFlight: 4096,
          lateNs: 1e6,
        });
  if (loop instanceof ClosedLoop) loop.setConcurrency(order.concurrency ?? 1);
  else loop.start();
  await realClock.sleep(order.settleMs);
  if (loop instanceof OpenLoop) loop.takeTally();
  let [succeeded, failed] = [0, 0];
  const count = (batch: Batch): void => {
    succeeded += batch.succeeded;
    failed += batch.failed;
  };
  const cpuBefore = process.cpuUsage();
  recorder.start({ lengthNs: NS_PER_S / 10, minRequests: 1 }, count, realClock.nowNs());
  const fromNs = realClock.nowNs();
  await realClock.sleep(order.runMs);
  recorder.closeNow(realClock.nowNs());
  const seconds = (realClock.nowNs() - fromNs) / NS_PER_S;
  const { user, system } = process.cpuUsage(cpuBefore);
  recorder.stop();
  const tally = loop instanceof OpenLoop ? loop.takeTally() : null;
  await loop.drain(DRAIN_MS);
  clearInterval(sampler);
  await transport.close();
  const settled = readings.slice(Math.floor(readings.length / 4));
  return {
    seconds,
    perSecond: succeeded / seconds,
    failed,
    mostInFlight: loop instanceof OpenLoop ? loop.mostInFlight : (order.concurrency ?? 1),
    lateShare: tally ? tally.late / Math.max(tally.sent, 1) : 0,
    droppedShare: tally ? tally.dropped / Math.max(tally.sent + tally.dropped, 1) : 0,
    cpuUs: (user + system) / Math.max(succeeded, 1),
    mostMiB: readings.reduce((most, { mib }) => Math.max(most, mib), 0),
    growthMiBPerHour: slopeOf(settled),
  };
}

function slopeOf(readings: readonly { readonly hours: number; readonly mib: number }[]): number {
  const mean = (of: (reading: (typeof readings)[number]) => number): number =>
    readings.reduce((sum, reading) => sum + of(reading), 0) / Math.max(readings.length, 1);
  const [hours, mib] = [mean((reading) => reading.hours), mean((reading) => reading.mib)];
  const across = mean((reading) => (reading.hours - hours) * (reading.mib - mib));
  return across / mean((reading) => (reading.hours - hours) ** 2);
}

async function linesOf(child: ChildProcess, untilEnd: boolean): Promise<string> {
  let text = '';
  child.stdout?.on('data', (chunk) => {
    text += chunk;
  });
  if (untilEnd) await once(child, 'close');
  else while (!text.includes('\n')) await once(child.stdout as NodeJS.ReadableStream, 'data');
  return text.trim();
}

/** Runs the order in a process of its own; null if that process dies. */
async function measured(order: Omit<Order, 'url'>, holdMs = 0): Promise<Seen | null> {
  const start = (file: string, args: readonly string[]): ChildProcess =>
    spawn(process.execPath, [join(import.meta.dirname, file), ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const server = start('null-grpc-server.ts', holdMs > 0 ? [`${holdMs}`] : []);
  try {
    const url = `127.0.0.1:${await linesOf(server, false)}`;
    const text = await linesOf(start('load-limits.ts', [JSON.stringify({ ...order, url })]), true);
    return text === '' ? null : (JSON.parse(text) as Seen);
  } finally {
    server.kill();
  }
}

const whole = (value: number): string => Math.round(value).toLocaleString('en-US');
const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

function print(what: string, seen: Seen | null): void {
  if (!seen) {
    console.log(`| ${what} | the process ended |`);
    return;
  }
  const { perSecond, failed, mostInFlight, lateShare, droppedShare, cpuUs, mostMiB, growthMiBPerHour } = seen;
  const isLong = seen.seconds > 60;
  const cells = [whole(perSecond), whole(mostInFlight), whole(failed), percent(lateShare), percent(droppedShare)];
  console.log(
    `| ${[what, ...cells, cpuUs.toFixed(1), whole(mostMiB), isLong ? whole(growthMiBPerHour) : ''].join(' | ')} |`,
  );
}

/** CPU that an agent's limit adds to a request: sends to nothing, with and without it, in turn. */
function printLimitCost(): void {
  const nothing: Transport = {
    prepare: (request) => ({ request }),
    send: () => undefined,
    close: async () => undefined,
  };
  const limits = newSendLimits({ requestsPerSecond: 1e9, connections: 1 }, 1, realClock.nowNs());
  const limited = limitedSends(nothing, new SendThrottle(limits, realClock.nowNs, () => undefined));
  const prepared = nothing.prepare({ model: 'null', version: '', batch: 1, inputs: [] });
  const nsPerSend = ({ send }: Transport): number => {
    const before = process.cpuUsage();
    for (let sent = 0; sent < SENDS; sent++) send(prepared, () => undefined);
    const { user, system } = process.cpuUsage(before);
    return ((user + system) * NS_PER_US) / SENDS;
  };
  const added = Array.from({ length: ROUNDS }, () => nsPerSend(limited) - nsPerSend(nothing)).sort((a, b) => a - b);
  console.log(`\nan agent's limit adds ${added[ROUNDS >> 1]?.toFixed(1)} ns of CPU to a request`);
}

async function all(): Promise<void> {
  console.log(`${availableParallelism()} cores (${cpus()[0]?.model}), ${new Date().toISOString().slice(0, 10)}\n`);
  console.log('| run | answered/s | most in flight | failed | late | not sent | CPU us | most MiB | MiB/h |');
  console.log('|---|---|---|---|---|---|---|---|---|');
  const times = { runMs: RUN_MS, settleMs: SETTLE_MS };
  for (const concurrency of IN_FLIGHT) {
    const seen = await measured({ ...times, bytes: 64, concurrency, settleMs: 2 * HOLD_MS }, HOLD_MS);
    print(`${whole(concurrency)} in flight`, seen);
  }
  print('64 in flight, as fast as it can', await measured({ ...times, bytes: 64, concurrency: 64 }));
  for (const perSecond of RATES) {
    print(`${whole(perSecond)} requests/s`, await measured({ ...times, bytes: 64, perSecond }));
  }
  for (const mib of SIZES_MIB) {
    print(`${whole(mib)} MiB, 2 in flight`, await measured({ ...times, bytes: mib * MIB, concurrency: 2 }));
  }
  const runMs = MINUTES * 60 * MS_PER_S;
  print(`5,000 requests/s, ${MINUTES} minutes`, await measured({ ...times, runMs, bytes: 64, perSecond: 5_000 }));
  print(`64 in flight, ${MINUTES} minutes`, await measured({ ...times, runMs, bytes: 64, concurrency: 64 }));
  printLimitCost();
}

const [, , order] = process.argv;
if (order === undefined) await all();
else if (order === 'limit-cost') printLimitCost();
else console.log(JSON.stringify(await runOnce(JSON.parse(order) as Order)));
