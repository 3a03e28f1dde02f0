import { median } from 'simple-statistics';
import type { GpuMetrics } from '#profiler/server-figures.ts';

/** Why a GPU became slower or faster. */
export type GpuCause = ClockCause | SharingCause;

/** A GPU whose clock changed with the machine's speed. */
interface ClockCause {
  readonly uuid: string;
  readonly fromMhz: number;
  readonly toMhz: number;
  /** Its power in watts after the change. */
  readonly powerW?: number | undefined;
}

/** Programs that began to use a GPU as it became slower, or left it as it became faster. */
interface SharingCause {
  readonly uuid: string;
  readonly programs: readonly string[];
  readonly have: 'begun' | 'ended';
}

/** The share of the speed's change, as a logarithm, that a clock must have changed by. */
const MIN_SHARE = 0.5;

/**
 * Returns the GPU whose clock explains at least half of a change of the speed, or else the one that
 * other programs began to use or left; null if there is none, or the server reports neither.
 * `before`: the GPUs at each measurement before the change; `now`: after it; `times`: the new speed
 * over the old.
 */
export const findGpuCause = (
  before: readonly (readonly GpuMetrics[])[],
  now: readonly GpuMetrics[],
  times: number,
): GpuCause | null => findClock(before, now, times) ?? findSharing(before, now, times);

function findClock(
  before: readonly (readonly GpuMetrics[])[],
  now: readonly GpuMetrics[],
  times: number,
): ClockCause | null {
  const changed = now.flatMap(({ uuid, clockMhz, powerW }): (ClockCause & { readonly share: number })[] => {
    const earlier = before.flatMap((gpus) => gpus.find((gpu) => gpu.uuid === uuid)?.clockMhz ?? []);
    if (!clockMhz || earlier.length === 0) return [];
    const fromMhz = median(earlier);
    return [{ uuid, fromMhz, toMhz: clockMhz, powerW, share: Math.log(clockMhz / fromMhz) / Math.log(times) }];
  });
  const most = changed.sort((a, b) => b.share - a.share)[0];
  if (!most || !(most.share >= MIN_SHARE)) return null;
  const { share, ...cause } = most;
  return cause;
}

function findSharing(
  before: readonly (readonly GpuMetrics[])[],
  now: readonly GpuMetrics[],
  times: number,
): SharingCause | null {
  for (const { uuid, otherProcesses = [] } of now) {
    const earlier = before.flatMap((gpus) => gpus.filter((gpu) => gpu.uuid === uuid));
    if (earlier.length === 0) continue;
    const [from, to, have] =
      times < 1
        ? ([earlier.flatMap((gpu) => gpu.otherProcesses ?? []), otherProcesses, 'begun'] as const)
        : ([otherProcesses, earlier.at(-1)?.otherProcesses ?? [], 'ended'] as const);
    const programs = to.filter((name) => !from.includes(name));
    if (programs.length > 0) return { uuid, programs, have };
  }
  return null;
}
