import { NS_PER_S } from '#base/units.ts';
import type { LevelOptions } from '../level-options.ts';
import type { Measurement } from '../measurement.ts';
import type { EngineFigures } from '../token-figures.ts';
import type { EngineReading } from './engine-metrics.ts';

/** The gauges are momentary: each shows one step. */
const READ_EVERY_MS = 500;

/** A watch that reads an engine during the traffic. */
export interface EngineWatch {
  start(): void;
  stop(): void;
  figures(): Promise<Pick<Measurement, 'engine'>>;
}

interface Timed {
  readonly atNs: number;
  readonly reading: EngineReading;
}

/**
 * Reads an engine's state twice a second between `start` and `stop`, until a reading finds nothing.
 */
export function watchEngine({ clock, engineProbe }: Pick<LevelOptions, 'clock' | 'engineProbe'>): EngineWatch {
  if (!engineProbe) return { start: () => undefined, stop: () => undefined, figures: async () => ({}) };
  const stopping = new AbortController();
  const readings: Timed[] = [];
  const read = async (): Promise<boolean> => {
    const atNs = clock.nowNs();
    const reading = await engineProbe(stopping.signal).catch(() => null);
    if (reading) readings.push({ atNs, reading });
    return reading !== null;
  };
  const readOn = async (): Promise<void> => {
    while (!stopping.signal.aborted && (await read())) {
      await clock.sleep(READ_EVERY_MS, stopping.signal).catch(() => undefined);
    }
  };
  let reader: Promise<void> = Promise.resolve();
  return {
    start: () => {
      reader = readOn();
    },
    stop: () => stopping.abort(),
    figures: async () => {
      await reader;
      return readings.length === 0 ? {} : { engine: engineFigures(readings) };
    },
  };
}

/**
 * Returns means over the readings; for preemptions, the rate from the first to the last reading.
 */
export function engineFigures(readings: readonly Timed[]): EngineFigures {
  const computeMean = (field: keyof EngineReading): number | undefined => {
    const values = readings.flatMap(({ reading }) => reading[field] ?? []);
    return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length;
  };
  const fields = ['runningSequences', 'waitingSequences', 'kvCacheShare'] as const;
  const means = fields.flatMap((field) => {
    const mean = computeMean(field);
    return mean === undefined ? [] : [[field, mean] as const];
  });
  const counted = readings.flatMap(({ atNs, reading: { preemptions } }) =>
    preemptions === undefined ? [] : [{ atNs, preemptions }],
  );
  const [first, last] = [counted[0], counted.at(-1)];
  const seconds = first && last ? (last.atNs - first.atNs) / NS_PER_S : 0;
  const rate = first && last && seconds > 0 ? (last.preemptions - first.preemptions) / seconds : undefined;
  return {
    ...Object.fromEntries(means),
    ...(rate !== undefined && { preemptionsPerSecond: Math.max(0, rate) }),
  };
}
