import { request } from 'undici';
import { expect, it, onTestFinished } from 'vitest';
import { realClock } from '#base/clock.ts';
import { NS_PER_MS } from '#base/units.ts';
import type { EmulatorProfile } from '#emulator/profile/schema.ts';
import { startWakeUps } from '#emulator/scheduling/wake-ups.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import type { ModelStatistics } from '#triton/types.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { fp32Input, grpcInferClient, inferMessage } from '../support/infer-clients.ts';
import { openVirtualEmulator } from '../support/virtual-emulator.ts';

interface Run {
  readonly answered: number;
  readonly statistics: ModelStatistics;
  readonly metrics: string;
}

/** A closed loop of so many requests at a time. */
async function drive(profile: EmulatorProfile, concurrency: number, requests: number): Promise<Run> {
  const { grpcUrl, metricsUrl } = await emulatorForTest({ profile });
  const control = connectGrpc(grpcUrl);
  const traffic = grpcInferClient(grpcUrl);
  onTestFinished(() => Promise.all([control.close(), traffic.close()]).then(() => undefined));
  let left = requests;
  let answered = 0;
  const loop = async (): Promise<void> => {
    while (left-- > 0) if ((await traffic.infer('m', [fp32Input([1, 4])])).status === 0) answered += 1;
  };
  await Promise.all(Array.from({ length: concurrency }, loop));
  const [statistics] = await control.statistics('m');
  const metrics = await (await request(metricsUrl)).body.text();
  return { answered, statistics: statistics as ModelStatistics, metrics };
}

const busyNs = ({ batchStats }: ModelStatistics): number =>
  batchStats.reduce((sum, { computeInput, computeInfer, computeOutput }) => {
    return sum + computeInput.ns + computeInfer.ns + computeOutput.ns;
  }, 0);

it('reaches the throughput of its law with full batches on every instance', async () => {
  const config = { dynamic_batching: {}, instance_group: [{ count: 2, kind: 'KIND_CPU' }] };
  const emulator = openVirtualEmulator({ profile: smallProfile({ a: 20, b: 1, config }) });
  onTestFinished(() => emulator.close());
  const request = inferMessage('m', [fp32Input([1, 4])]);
  let left = 480;
  const loop = async (): Promise<void> => {
    while (left-- > 0) expect(await emulator.grpc('ModelInfer', [request])).toMatchObject({ failure: null });
  };
  await Promise.all(Array.from({ length: 48 }, loop));
  // An instance that is free takes what is there: the first request alone, in 21 ms. From then on
  // batches are full: 30 on each instance.
  expect(emulator.clock.nowNs() / NS_PER_MS).toBeCloseTo(21 + 30 * 28, 6);
});

it('runs one request at a time without dynamic batching', async () => {
  const { statistics } = await drive(smallProfile({ a: 2 }), 8, 40);
  expect(statistics.batchStats.map(({ batchSize }) => batchSize)).toEqual([1]);
  expect(statistics.executionCount).toBe(40);
});

it('holds requests back for the queue delay', async () => {
  const config = { dynamic_batching: { max_queue_delay_microseconds: 30_000 } };
  const { statistics } = await drive(smallProfile({ config }), 1, 3);
  expect(statistics.queue.ns / statistics.queue.count / 30e6).toBeGreaterThanOrEqual(1);
});

it('keeps accounts that agree with each other and with the metrics', async () => {
  const config = { dynamic_batching: {} };
  const law = { split: { input: 0.25, output: 0.25 } };
  const { answered, statistics, metrics } = await drive(smallProfile({ a: 5, config, law }), 12, 60);
  expect(answered).toBe(60);
  expect(statistics).toMatchObject({
    inferenceCount: 60,
    success: { count: 60 },
    fail: { count: 0 },
    queue: { count: 60 },
  });
  const executions = statistics.batchStats.reduce((sum, { computeInfer }) => sum + computeInfer.count, 0);
  expect(executions).toBe(statistics.executionCount);
  const samples = statistics.batchStats.reduce(
    (sum, { batchSize, computeInfer }) => sum + batchSize * computeInfer.count,
    0,
  );
  expect(samples).toBe(60);
  // No execution is shorter than its law, and a request's time is its queue time and its whole
  // batch's compute time.
  expect(busyNs(statistics) / statistics.executionCount / 5e6).toBeGreaterThanOrEqual(1);
  const parts =
    statistics.queue.ns + statistics.computeInput.ns + statistics.computeInfer.ns + statistics.computeOutput.ns;
  expect(statistics.success.ns / parts).toBeCloseTo(1, 6);
  expect(statistics.computeInput.ns / statistics.computeInfer.ns).toBeCloseTo(0.5, 6);
  expect(metrics).toContain('nv_inference_count{model="m",version="1"} 60\n');
  expect(metrics).toContain('nv_inference_pending_request_count{model="m",version="1"} 0\n');
  expect(metrics).toContain('nv_model_load_duration_secs{model="m",version="1"} 0.02\n');
  expect(metrics).toContain('nv_cpu_utilization ');
  expect(metrics).not.toContain('nv_gpu');
});

it('is slower in the first execution of every instance after a load', async () => {
  const { statistics } = await drive(smallProfile({ model: { first_execution_ms: 40 } }), 1, 2);
  expect(busyNs(statistics) / 40e6).toBeGreaterThanOrEqual(1);
});

it('shows a GPU in the metrics when the profile has one', async () => {
  const device = { kind: 'gpu', name: 'GPU', memory_mib: 1000, power_w: { idle: 10, busy: 100 } };
  const config = { instance_group: [{ count: 2, kind: 'KIND_GPU' }] };
  const model = { memory: { model_mib: 100, instance_mib: 50, sample_mib: 1 } };
  const { metrics, statistics } = await drive(smallProfile({ config, model, profile: { device } }), 1, 2);
  const mib = 100 + 2 * (50 + 8);
  expect(metrics).toContain(`nv_gpu_memory_used_bytes{gpu_uuid="EMULATED-GPU-0"} ${mib * 2 ** 20}\n`);
  expect(metrics).toMatch(/nv_gpu_power_usage\{gpu_uuid="EMULATED-GPU-0"\} \d/);
  expect(statistics.memoryUsage).toEqual([{ type: 'GPU', id: 0, byteSize: mib * 2 ** 20 }]);
});

it('wakes in order, never early, and not what was cancelled', async () => {
  const wakeUps = startWakeUps(realClock);
  const startNs = realClock.nowNs();
  const woken: { ms: number; lateNs: number }[] = [];
  const plan = (ms: number): (() => void) => {
    const dueNs = startNs + ms * 1e6;
    return wakeUps.at(dueNs, () => woken.push({ ms, lateNs: realClock.nowNs() - dueNs }));
  };
  for (const ms of [9, 3.5, 0.2, 30]) plan(ms);
  plan(5)();
  await expect.poll(() => woken.length).toBe(4);
  await wakeUps.close();
  expect(woken.map(({ ms }) => ms)).toEqual([0.2, 3.5, 9, 30]);
  expect(woken.every(({ lateNs }) => lateNs >= 0)).toBe(true);
});

it("runs the batches that TensorRT's backend has captured as CUDA graphs, padded to their size", async () => {
  const input = { IN: { dim: [4] } };
  const spec = (from: number, to: number) => ({
    batch_size: to,
    input,
    graph_lower_bound: { batch_size: from, input },
  });
  const tookMs = async (batch: number, cuda: object): Promise<number> => {
    const config = { dynamic_batching: {}, optimization: { cuda } };
    const profile = smallProfile({ a: 10, b: 1, config, law: { cuda_graph_saves_ms: 4 } });
    const emulator = openVirtualEmulator({ profile });
    const fromNs = emulator.clock.nowNs();
    const message = inferMessage('m', [fp32Input([batch, 4])]);
    expect(await emulator.grpc('ModelInfer', [message])).toMatchObject({ failure: null });
    const ms = (emulator.clock.nowNs() - fromNs) / NS_PER_MS;
    await emulator.close();
    return Math.round(ms * 100) / 100;
  };
  const graphs = { graphs: true };
  expect(await tookMs(3, {})).toBe(13);
  expect(await tookMs(3, graphs)).toBe(13);
  expect(await tookMs(1, graphs)).toBe(7);
  expect(await tookMs(8, graphs)).toBe(14);
  expect(await tookMs(3, { ...graphs, graph_spec: [spec(1, 2), spec(3, 4)] })).toBe(10);
  expect(await tookMs(5, { ...graphs, graph_spec: [spec(1, 2), spec(3, 4)] })).toBe(15);
});
