import { BYTES_PER_MIB } from '../../base/units.ts';
import type { FollowLines } from '../../launch/follow-lines.ts';
import type { GpuMetrics } from '../server-figures.ts';
import type { DeviceProbe } from './device-probe.ts';
import { gpuTotals } from './gpu-metrics.ts';

/** The GPUs of this machine, as reported by the driver's own tool. */
export interface GpuSource {
  /**
   * Returns the newest figures of each GPU; empty without any. The first call starts the watch.
   * Never throws.
   */
  read(): Promise<readonly GpuMetrics[]>;
  close(): Promise<void>;
}

/** The columns of one line of nvidia-smi, in this order (`nvidia-smi --help-query-gpu`). */
const COLUMNS = ['uuid', 'utilization.gpu', 'memory.used', 'memory.total', 'power.draw', 'clocks.sm'] as const;
const EVERY_MS = 500;
/** An idle driver can take a second or two. */
const FIRST_ROUND_MS = 3000;

/**
 * Parses `uuid, %, MiB, MiB, W, MHz`, as `--format=csv,noheader,nounits` writes them. Leaves out
 * figures that the GPU lacks (`[N/A]`). null for a line that describes no GPU, such as an error.
 */
export function gpuOfLine(line: string): GpuMetrics | null {
  const [uuid = '', ...cells] = line.split(',').map((cell) => cell.trim());
  if (!/^(GPU|MIG)-/.test(uuid) || cells.length !== COLUMNS.length - 1) return null;
  const [utilizationPercent, usedMib, totalMib, powerW, clockMhz] = cells.map((cell) => Number.parseFloat(cell));
  const figures = {
    utilizationPercent,
    powerW,
    clockMhz,
    memoryBytes: (usedMib as number) * BYTES_PER_MIB,
    memoryTotalBytes: (totalMib as number) * BYTES_PER_MIB,
  };
  const known = Object.entries(figures).filter(([, value]) => Number.isFinite(value));
  return { uuid, ...Object.fromEntries(known) };
}

/**
 * Runs one nvidia-smi that reports twice a second until `close`. Starting one for each reading
 * would cost too much.
 */
export function nvidiaSmi(follow: FollowLines): GpuSource {
  const newest = new Map<string, GpuMetrics>();
  let process: ReturnType<FollowLines> | undefined;
  let firstRound: Promise<void> | undefined;

  const start = (): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const deadline = setTimeout(resolve, FIRST_ROUND_MS);
    const args = [`--query-gpu=${COLUMNS.join(',')}`, '--format=csv,noheader,nounits', `--loop-ms=${EVERY_MS}`];
    process = follow('nvidia-smi', args, (line) => {
      const gpu = gpuOfLine(line);
      if (gpu === null) return;
      // The first GPU appears again, so every GPU has been reported once.
      if (newest.has(gpu.uuid)) resolve();
      newest.set(gpu.uuid, gpu);
    });
    void process.ended.then(() => {
      // Figures that are no longer renewed are not a reading.
      newest.clear();
      resolve();
    });
    return promise.finally(() => clearTimeout(deadline));
  };

  return {
    async read() {
      firstRound ??= start();
      await firstRound;
      return [...newest.values()];
    },
    async close() {
      await process?.stop();
    },
  };
}

/**
 * Uses the metrics page first. `gpus` adds the GPU figures that the page lacks; the clocks always
 * come from there.
 */
export function withGpus(gpus: GpuSource, page: DeviceProbe): DeviceProbe {
  return async (signal) => {
    const samples = await page(signal);
    const gpuReadings = await gpus.read();
    if (gpuReadings.length === 0) return samples;
    // If a server names its GPUs, it uses no others.
    const named =
      samples?.gpus?.map((gpu) => ({ ...gpuReadings.find(({ uuid }) => uuid === gpu.uuid), ...gpu })) ?? gpuReadings;
    return { ...gpuTotals(named), ...samples, gpus: named };
  };
}
