import { median } from 'simple-statistics';
import type { GpuMetrics } from '../../profiler/server-figures.ts';

/** A GPU whose clock changed with the machine's speed. */
export interface GpuCause {
  readonly uuid: string;
  readonly fromMhz: number;
  readonly toMhz: number;
  /** Its power in watts after the change. */
  readonly powerW?: number | undefined;
}

/** The share of the speed's change, as a logarithm, that a clock must have changed by. */
const MIN_SHARE = 0.5;

/**
 * Returns the GPU whose clock explains at least half of a change of the speed; null if none does,
 * or the server reports no clocks. `before`: the GPUs at each measurement before the change; `now`:
 * after it; `times`: the new speed over the old.
 */
export function findGpuCause(
  before: readonly (readonly GpuMetrics[])[],
  now: readonly GpuMetrics[],
  times: number,
): GpuCause | null {
  const changed = now.flatMap(({ uuid, clockMhz, powerW }): (GpuCause & { readonly share: number })[] => {
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
