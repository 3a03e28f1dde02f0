import { NS_PER_S } from '#base/units.ts';
import type { LevelOptions } from '../level-options.ts';
import type { DeviceMetrics } from '../server-figures.ts';
import { meanDeviceMetrics } from './device-probe.ts';

/** The server renews its figures at this interval, and reading them takes CPU from the server. */
const READ_EVERY_NS = 2 * NS_PER_S;

/**
 * Reads the devices during the traffic, every two seconds or once, and stops after a reading that
 * found nothing.
 */
export class DeviceReadings {
  readonly #options: Pick<LevelOptions, 'clock' | 'deviceProbe'>;
  readonly #stop = new AbortController();
  readonly #readings: Promise<DeviceMetrics | null>[] = [];
  #absent = false;
  #lastNs: number;

  constructor(options: Pick<LevelOptions, 'clock' | 'deviceProbe'>) {
    this.#options = options;
    this.#lastNs = options.clock.nowNs();
  }

  readIfDue(): void {
    if (this.#options.clock.nowNs() - this.#lastNs >= READ_EVERY_NS) this.#read();
  }

  /** Takes a reading at the end of the windows if there is none yet. */
  readIfNone(): void {
    if (this.#readings.length === 0) this.#read();
  }

  #read(): void {
    const probe = this.#options.deviceProbe;
    if (!probe || this.#absent) return;
    this.#lastNs = this.#options.clock.nowNs();
    const reading = probe(this.#stop.signal).catch(() => null);
    this.#readings.push(reading);
    void reading.then((metrics) => {
      this.#absent ||= metrics === null;
    });
  }

  async mean(): Promise<DeviceMetrics> {
    const readings = await Promise.all(this.#readings);
    return meanDeviceMetrics(readings.filter((reading) => reading !== null));
  }

  stop(): void {
    this.#stop.abort();
  }
}
