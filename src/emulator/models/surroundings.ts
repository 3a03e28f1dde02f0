import type { Clock } from '#base/clock.ts';
import type { DeviceMemory } from '../scheduling/device.ts';
import type { EngineCache } from '../scheduling/engine-cache.ts';
import type { Processor } from '../scheduling/processor.ts';
import type { WakeUps } from '../scheduling/wake-ups.ts';

/** What every model of one emulator shares. */
export interface SharedParts {
  readonly clock: Clock;
  readonly wakeUps: WakeUps;
  /** The memory of its GPUs; of its CPU where it has none. */
  readonly device: DeviceMemory;
  /** What executions run on, by GPU; that of the CPU where there is none. */
  readonly processors: readonly Processor[];
  /** What runs the instances that a config puts on the CPU of a machine with GPUs. */
  readonly host: Processor;
  readonly engines: EngineCache;
  /** Aborts when the emulator closes: a load that goes on then ends. */
  readonly closing: AbortSignal;
  /** Ends the whole server at once, as if its process were killed. */
  crash(): void;
}
