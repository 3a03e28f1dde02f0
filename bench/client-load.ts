import { openAlarm } from '#base/alarm.ts';
import { realClock } from '#base/clock.ts';
import { MS_PER_S, msToNs, NS_PER_S, NS_PER_US } from '#base/units.ts';
import { ClosedLoop } from '#loadgen/closed-loop.ts';
import { defaultOpenLoopRule, OpenLoop } from '#loadgen/open-loop.ts';
import { constantRate } from '#loadgen/pacers.ts';
import { type Batch, Recorder } from '#loadgen/recorder.ts';
import { requestCycle } from '#loadgen/request-turns.ts';
import { openRegions, type SharedRegions } from '#loadgen/shared-memory/open-regions.ts';
import { openTransport } from '#loadgen/transports/open.ts';
import type { RequestSet } from '#loadgen/types.ts';
import { connectGrpc, connectHttp } from '#triton/control/connect.ts';
import type { Load, Report } from './client-run.ts';

/**
 * Our load generator alone in a process, so that its CPU time is all its own:
 *
 *   node bench/client-load.ts '{ "url": …, "load": …, "settleMs": …, "runMs": … }'
 *
 * It counts from the end of `settleMs` on and prints a `Report` at the end.
 */
export interface LoadOrder {
  readonly url: string;
  readonly load: Load;
  readonly streaming?: boolean | undefined;
  readonly sharedMemory?: boolean | undefined;
  readonly settleMs: number;
  readonly runMs: number;
}

const TIMEOUT_MS = 10_000;
const order = JSON.parse(process.argv[2] as string) as LoadOrder;
const { load, settleMs, runMs } = order;

const zeros = { name: 'INPUT0', datatype: 'FP32', shape: [1, load.floats], raw: new Uint8Array(4 * load.floats) };
const request = { model: load.model, version: '', batch: 1, inputs: [zeros] };
const plain: RequestSet = { model: load.model, version: '', batch: 1, requests: [request] };

const regions = order.sharedMemory ? await openShared() : undefined;
const requests = regions?.placed(plain) ?? plain;
const transport = openTransport(load.protocol, {
  url: order.url,
  timeoutMs: TIMEOUT_MS,
  streaming: order.streaming,
  timesRequests: true,
  sharedOutputs: regions?.outputs,
});
const recorder = new Recorder();
const report = load.perSecond === undefined ? await closedLoop(load.concurrency) : await openLoop(load.perSecond);
await transport.close();
await regions?.close();
console.log(JSON.stringify(report));

async function openShared(): Promise<SharedRegions> {
  const control = load.protocol === 'grpc' ? connectGrpc(order.url) : connectHttp(order.url);
  const config = await control.modelConfig(load.model);
  const regions = await openRegions(control, {
    inputs: [{ requests: plain.requests, mostBatch: 1, values: [zeros.raw] }],
    config,
    maxInFlight: load.concurrency,
    unknownOutputBytes: 102_400,
  });
  return { ...regions, close: () => regions.close().finally(() => control.close()) };
}

async function closedLoop(concurrency: number): Promise<Report> {
  const loop = new ClosedLoop(transport, { nextRequest: requestCycle(transport, requests) }, recorder, realClock);
  loop.setConcurrency(concurrency);
  const batch = await counted();
  await loop.drain(TIMEOUT_MS);
  return { p50Us: batch.latencies.quantileNs(0.5) / NS_PER_US };
}

async function openLoop(perSecond: number): Promise<Report> {
  const alarm = openAlarm();
  const loop = new OpenLoop(
    { transport, nextRequest: requestCycle(transport, requests), recorder },
    { clock: realClock, alarm },
    constantRate(perSecond),
    defaultOpenLoopRule,
  );
  loop.start();
  await realClock.sleep(settleMs);
  loop.takeTally();
  const startNs = realClock.nowNs();
  const batch = await counted(0);
  const tally = loop.takeTally();
  const seconds = (realClock.nowNs() - startNs) / NS_PER_S;
  await loop.drain(TIMEOUT_MS);
  await alarm.close();
  return {
    p50Us: batch.latencies.quantileNs(0.5) / NS_PER_US,
    sentPerSecond: tally.sent / seconds,
    lateP50Us: tally.lateness.quantileNs(0.5) / NS_PER_US,
  };
}

/**
 * Counts everything that completes after settling. A failed request invalidates the comparison, and
 * ends it.
 */
async function counted(waitMs = settleMs): Promise<Batch> {
  await realClock.sleep(waitMs);
  const batches: Batch[] = [];
  recorder.start({ lengthNs: msToNs(runMs * MS_PER_S), minRequests: 1 }, (batch) => batches.push(batch));
  await realClock.sleep(runMs - settleMs);
  recorder.closeNow(realClock.nowNs());
  recorder.stop();
  const [batch] = batches;
  const failure = batch?.failures?.[0];
  if (failure) throw new Error(`${failure.count} requests failed: ${failure.firstMessage}`);
  if (!batch) throw new Error('nothing completed');
  return batch;
}
