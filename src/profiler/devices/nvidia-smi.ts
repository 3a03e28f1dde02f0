import { basename } from 'node:path';
import { realClock } from '#base/clock.ts';
import { plainLine } from '#base/format.ts';
import { BYTES_PER_MIB, NS_PER_S } from '#base/units.ts';
import type { FollowLines } from '#launch/follow-lines.ts';
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
/** Columns of a program that computes on a GPU (`nvidia-smi --help-query-compute-apps`). */
const PROGRAM_COLUMNS = ['gpu_uuid', 'pid', 'process_name'] as const;
const PROGRAMS_EVERY_MS = 1000;
/** A program that was not listed for this long has left the GPU. */
const PROGRAM_GONE_NS = 3 * NS_PER_S;
const MAX_PROGRAM_NAME = 60;
/**
 * Triton, the processes that its Python backend starts, and programs of other containers, which
 * have no name here and may be Triton.
 */
const UNTOLD_PROGRAM = /^(triton|\[)/;
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

/** Returns the GPU and the name of a program that is not Triton; null for all other lines. */
function programOfLine(line: string): { readonly uuid: string; readonly name: string } | null {
  const [, uuid, path] = /^((?:GPU|MIG)-[^,]+),\s*\d+,\s*(.+?)\s*$/.exec(line) ?? [];
  if (uuid === undefined || path === undefined) return null;
  const name = plainLine(basename(path), MAX_PROGRAM_NAME);
  return UNTOLD_PROGRAM.test(name) ? null : { uuid, name };
}

/**
 * Runs one nvidia-smi that reports twice a second until `close`, and one that lists the programs on
 * the GPUs. Starting one for each reading would cost too much.
 */
export function nvidiaSmi(follow: FollowLines, nowNs: () => number = realClock.nowNs): GpuSource {
  const newest = new Map<string, GpuMetrics>();
  /** When a program was last listed, by GPU and name. */
  const programs = new Map<string, Map<string, number>>();
  let process: ReturnType<FollowLines> | undefined;
  let lister: ReturnType<FollowLines> | undefined;
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
    const listing = [`--query-compute-apps=${PROGRAM_COLUMNS.join(',')}`, '--format=csv,noheader'];
    lister = follow('nvidia-smi', [...listing, `--loop-ms=${PROGRAMS_EVERY_MS}`], (line) => {
      const program = programOfLine(line);
      if (!program) return;
      const onGpu = programs.get(program.uuid) ?? new Map<string, number>();
      programs.set(program.uuid, onGpu.set(program.name, nowNs()));
    });
    void process.ended.then(() => {
      // Figures that are no longer renewed are not a reading.
      newest.clear();
      resolve();
    });
    return promise.finally(() => clearTimeout(deadline));
  };

  const othersOn = (uuid: string): readonly string[] =>
    [...(programs.get(uuid) ?? [])].flatMap(([name, seenNs]) => (nowNs() - seenNs < PROGRAM_GONE_NS ? [name] : []));

  return {
    async read() {
      firstRound ??= start();
      await firstRound;
      return [...newest.values()].map((gpu) => {
        const otherProcesses = othersOn(gpu.uuid);
        return otherProcesses.length === 0 ? gpu : { ...gpu, otherProcesses };
      });
    },
    async close() {
      await lister?.stop();
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
