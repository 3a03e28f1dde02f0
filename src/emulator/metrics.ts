import { cpus, freemem, totalmem } from 'node:os';
import type { Clock } from '#base/clock.ts';
import { BYTES_PER_MIB, NS_PER_MS, NS_PER_S, NS_PER_US } from '#base/units.ts';
import type { ModelEntry } from './models/model-entry.ts';
import type { EmulatorProfile } from './profile/schema.ts';
import type { DeviceMemory } from './scheduling/device.ts';
import type { Processor } from './scheduling/processor.ts';

/**
 * GPU and CPU use are means over at least this time, because the real server refreshes them at an
 * interval.
 */
const REFRESH_MS = 250;

/**
 * Returns the Prometheus text of Triton's metrics for the models and the profile's GPUs, if any.
 * Names and units are those of the real server; durations are in microseconds. CPU figures are
 * those of this machine.
 */
export function createMetrics(
  profile: EmulatorProfile,
  models: readonly ModelEntry[],
  { device, processors }: { readonly device: DeviceMemory; readonly processors: readonly Processor[] },
  clock: Clock,
): () => string {
  const gpuUse = processors.map((each) => sampled(clock, () => ({ part: each.busyNs(), whole: clock.nowNs() })));
  const cpuUse = sampled(clock, cpuTimes);
  const startNs = clock.nowNs();
  return () => {
    const lines = [...modelFamilies(models), ...cpuFamilies(cpuUse())];
    if (profile.device.kind === 'gpu') {
      const seconds = (clock.nowNs() - startNs) / NS_PER_S;
      const uses = processors.map(
        (processor, gpu): GpuUse => ({
          usedMib: device.usedMib(gpu),
          utilization: gpuUse[gpu]?.() ?? 0,
          busySeconds: processor.busyNs() / NS_PER_S,
          seconds,
        }),
      );
      lines.push(...gpuFamilies(profile.device, uses));
    }
    return `${lines.join('\n')}\n`;
  };
}

const failureReasons = ['REJECTED', 'CANCELED', 'BACKEND', 'OTHER'] as const;
/** A server's default. */
const PINNED_POOL_BYTES = 268_435_456;

type Sample = readonly [labels: string, value: number];

function family(type: 'counter' | 'gauge', name: string, help: string, samples: readonly Sample[]): string[] {
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(([labels, value]) => `${name}${labels} ${value}`),
  ];
}

function modelFamilies(models: readonly ModelEntry[]): string[] {
  const loaded = models.filter((model) => model.state !== '');
  const labels = (model: ModelEntry): string => `{model="${model.name}",version="${model.version}"}`;
  const each = (value: (model: ModelEntry) => number): Sample[] =>
    loaded.map((model) => [labels(model), value(model)] as const);
  const us = (tally: (model: ModelEntry) => { readonly ns: number }): Sample[] =>
    each((model) => Math.round(tally(model).ns / NS_PER_US));
  return [
    family(
      'counter',
      'nv_inference_request_success',
      'Successful requests',
      each((m) => m.lifetime.success.count),
    ),
    family(
      'counter',
      'nv_inference_request_failure',
      'Failed requests',
      loaded.flatMap((model) =>
        failureReasons.map((reason): Sample => {
          const count = reason === 'BACKEND' ? model.lifetime.fail.count : 0;
          return [`{model="${model.name}",reason="${reason}",version="${model.version}"}`, count];
        }),
      ),
    ),
    family(
      'counter',
      'nv_inference_count',
      'Inferences: samples',
      each((m) => m.lifetime.inferenceCount),
    ),
    family(
      'counter',
      'nv_inference_exec_count',
      'Executions of a model',
      each((m) => m.lifetime.executionCount),
    ),
    family(
      'counter',
      'nv_inference_request_duration_us',
      'Time of requests',
      us((m) => m.lifetime.success),
    ),
    family(
      'counter',
      'nv_inference_queue_duration_us',
      'Time in the queue',
      us((m) => m.lifetime.queue),
    ),
    family(
      'counter',
      'nv_inference_compute_input_duration_us',
      'Compute input',
      us((m) => m.lifetime.computeInput),
    ),
    family(
      'counter',
      'nv_inference_compute_infer_duration_us',
      'Compute infer',
      us((m) => m.lifetime.computeInfer),
    ),
    family(
      'counter',
      'nv_inference_compute_output_duration_us',
      'Compute output',
      us((m) => m.lifetime.computeOutput),
    ),
    family(
      'gauge',
      'nv_inference_pending_request_count',
      'Requests not executing yet',
      each((m) => m.waitingRequests),
    ),
    family(
      'gauge',
      'nv_model_load_duration_secs',
      'Time of the last load',
      each((m) => m.loadSeconds),
    ),
  ].flat();
}

function cpuFamilies(utilization: number): string[] {
  return [
    family('gauge', 'nv_pinned_memory_pool_total_bytes', 'Pinned memory pool', [['', PINNED_POOL_BYTES]]),
    family('gauge', 'nv_pinned_memory_pool_used_bytes', 'Pinned memory pool in use', [['', 0]]),
    family('gauge', 'nv_cpu_utilization', 'CPU use, 0 to 1', [['', utilization]]),
    family('gauge', 'nv_cpu_memory_total_bytes', 'Memory of the machine', [['', totalmem()]]),
    family('gauge', 'nv_cpu_memory_used_bytes', 'Memory in use', [['', totalmem() - freemem()]]),
  ].flat();
}

/** The use of a GPU by all models together. */
interface GpuUse {
  readonly usedMib: number;
  readonly utilization: number;
  /** Seconds in which it executed anything, out of `seconds` since the start. */
  readonly busySeconds: number;
  readonly seconds: number;
}

function gpuFamilies(gpu: Extract<EmulatorProfile['device'], { kind: 'gpu' }>, uses: readonly GpuUse[]): string[] {
  const each = (value: (use: GpuUse) => number): Sample[] =>
    uses.map((use, index) => [`{gpu_uuid="EMULATED-GPU-${index}"}`, value(use)]);
  const { idle, busy } = gpu.power_w;
  return [
    family(
      'gauge',
      'nv_gpu_utilization',
      'GPU use, 0 to 1',
      each(({ utilization }) => utilization),
    ),
    family(
      'gauge',
      'nv_gpu_memory_total_bytes',
      'GPU memory',
      each(() => gpu.memory_mib * BYTES_PER_MIB),
    ),
    family(
      'gauge',
      'nv_gpu_memory_used_bytes',
      'GPU memory in use',
      each(({ usedMib }) => usedMib * BYTES_PER_MIB),
    ),
    family(
      'gauge',
      'nv_gpu_power_usage',
      'GPU power in watts',
      each(({ utilization }) => idle + (busy - idle) * utilization),
    ),
    family(
      'gauge',
      'nv_gpu_power_limit',
      'GPU power limit in watts',
      each(() => busy),
    ),
    family(
      'counter',
      'nv_energy_consumption',
      'GPU energy in joules',
      each(({ seconds, busySeconds }) => idle * seconds + (busy - idle) * busySeconds),
    ),
  ].flat();
}

/**
 * Returns the share of `part` in `whole` since the last refresh; repeats the last answer if called
 * too soon.
 */
function sampled(clock: Clock, read: () => { part: number; whole: number }): () => number {
  let last = read();
  let lastNs = clock.nowNs();
  let share = 0;
  return () => {
    if (clock.nowNs() - lastNs < REFRESH_MS * NS_PER_MS) return share;
    const now = read();
    share = now.whole > last.whole ? (now.part - last.part) / (now.whole - last.whole) : 0;
    last = now;
    lastNs = clock.nowNs();
    return share;
  };
}

function cpuTimes(): { part: number; whole: number } {
  const times = cpus().map((cpu) => cpu.times);
  const whole = times.reduce((sum, one) => sum + one.user + one.nice + one.sys + one.idle + one.irq, 0);
  return { part: whole - times.reduce((sum, one) => sum + one.idle, 0), whole };
}
