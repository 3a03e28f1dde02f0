import { type ClientUse, watchClient } from '#loadgen/client/cost.ts';
import { DeviceReadings } from '../devices/device-readings.ts';
import { watchEngine } from '../devices/engine-readings.ts';
import type { LevelOptions } from '../level-options.ts';
import type { Measurement } from '../measurement.ts';
import { Gate } from './gate.ts';
import type { Gates } from './measure-front.ts';

/** The options of everything that is watched once, whatever the number of fronts. */
export type WatchOptions = Pick<
  LevelOptions,
  'clock' | 'onProgress' | 'deviceProbe' | 'engineProbe' | 'hostWorkUs' | 'watchClient'
>;

/** The gates of a measurement, and what is watched during its traffic. */
export interface MeasurementGates {
  readonly gates: Gates;
  readonly devices: DeviceReadings;
  /** The client's resource use from when all fronts are warm until all have finished counting. */
  readonly use: () => ClientUse;
}

/**
 * Runs `measure` with this many fronts, and adds the figures of devices and host to its result.
 * Watches the client and reads the devices while requests are counted. The host does its piece of
 * work before the first and after the last request.
 */
export async function withSurroundings<T extends object>(
  options: WatchOptions,
  fronts: number,
  measure: (surroundings: MeasurementGates) => Promise<T>,
): Promise<T & Pick<Measurement, 'device' | 'engine' | 'hostWorkUs'>> {
  const client = (options.watchClient ?? watchClient)();
  const devices = new DeviceReadings(options);
  const engine = watchEngine(options);
  const hostWork: (number | undefined)[] = [];
  let use: ClientUse | undefined;
  const gates: Gates = {
    atRest: new Gate(fronts, () => {
      hostWork.push(options.hostWorkUs?.());
      options.onProgress?.({ phase: 'warm-up' });
    }),
    woken: new Gate(fronts),
    started: new Gate(fronts),
    warm: new Gate(fronts, () => {
      client.restart();
      engine.start();
    }),
    counted: new Gate(fronts, async () => {
      engine.stop();
      use = await client.read();
      devices.readIfNone();
    }),
    drained: new Gate(fronts, () => {
      hostWork.push(options.hostWorkUs?.());
    }),
  };
  try {
    const figures = await measure({ gates, devices, use: () => use as ClientUse });
    return { ...figures, device: await devices.mean(), ...(await engine.figures()), ...hostFigure(hostWork) };
  } finally {
    client.stop();
    devices.stop();
    engine.stop();
  }
}

/** Returns the mean over the readings before and after. */
function hostFigure(readings: readonly (number | undefined)[]): Pick<Measurement, 'hostWorkUs'> {
  const known = readings.filter((reading) => reading !== undefined);
  return known.length === 0 ? {} : { hostWorkUs: known.reduce((sum, each) => sum + each, 0) / known.length };
}
