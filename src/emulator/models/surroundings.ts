import type { Clock } from '../../base/clock.ts';
import type { Device } from '../scheduling/device.ts';
import type { Processor } from '../scheduling/processor.ts';
import type { WakeUps } from '../scheduling/wake-ups.ts';

/** What every model of one emulator shares. */
export interface Surroundings {
  readonly clock: Clock;
  readonly wakeUps: WakeUps;
  /** The memory of the device. */
  readonly device: Device;
  /** What the device's executions run on. */
  readonly processor: Processor;
  /** What runs the instances that a config puts on the CPU while the device is a GPU. */
  readonly host: Processor;
  /** Aborts when the emulator closes: a load that goes on then ends. */
  readonly closing: AbortSignal;
  /** Ends the whole server at once, as if its process were killed. */
  crash(): void;
}
