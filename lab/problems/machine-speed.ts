import { randomFor, standardNormal } from '../../src/base/random.ts';

/** Ways in which the speed of a synthetic machine changes during a study. */
export const speedKinds = ['steady', 'walk', 'two-states', 'heating'] as const;
export type SpeedKind = (typeof speedKinds)[number];

/** Returns the speed at a time, in seconds since the study began; 1 is full speed. */
export type MachineSpeed = (seconds: number) => number;

/**
 * The time step of a speed series and its length, ten minutes; a longer study sees the last value.
 */
const STEP_SECONDS = 0.5;
const STEPS = 1200;

/** Standard deviation of the random walk's logarithm, per √s: 0.15 after a minute. */
const WALK_SD = 0.02;
const WALK_BOUNDS = [0.55, 1.25] as const;
/**
 * A host whose cores are shared was seen at 0.6 of its speed for minutes (docs/how-it-measures.md).
 */
const SLOW_STATE = 0.6;
const STATE_SECONDS = [60, 180] as const;
/** A processor that heats up loses a quarter of its speed within the first minutes. */
const HOT = 0.75;
const HEATING_SECONDS = 40;

/** The lowest speed that a study must expect; a walk is hardly ever slower. */
export const slowestSpeed: Readonly<Record<SpeedKind, number>> = {
  steady: 1,
  walk: 0.6,
  'two-states': SLOW_STATE,
  heating: HOT,
};

/** Returns the speed of a machine of that kind; the same seed gives the same machine. */
export function machineSpeed(kind: SpeedKind, seed: number): MachineSpeed {
  const speeds = kinds[kind](seed);
  return (seconds) => speeds[Math.min(STEPS - 1, Math.max(0, Math.floor(seconds / STEP_SECONDS)))] as number;
}

const kinds: Readonly<Record<SpeedKind, (seed: number) => readonly number[]>> = {
  steady: () => Array.from({ length: STEPS }, () => 1),
  walk(seed) {
    const random = randomFor(`walk ${seed}`);
    const [low, high] = WALK_BOUNDS.map(Math.log) as [number, number];
    let log = 0;
    return Array.from({ length: STEPS }, () => {
      log += WALK_SD * Math.sqrt(STEP_SECONDS) * standardNormal(random);
      log = log < low ? 2 * low - log : log > high ? 2 * high - log : log;
      return Math.exp(log);
    });
  },
  'two-states'(seed) {
    const random = randomFor(`two-states ${seed}`);
    const [least, most] = STATE_SECONDS;
    let isSlow = random.float() < 0.5;
    // The study begins somewhere within a state.
    let leftSeconds = (least + (most - least) * random.float()) * random.float();
    return Array.from({ length: STEPS }, () => {
      leftSeconds -= STEP_SECONDS;
      if (leftSeconds < 0) {
        isSlow = !isSlow;
        leftSeconds = least + (most - least) * random.float();
      }
      return isSlow ? SLOW_STATE : 1;
    });
  },
  heating: () =>
    Array.from({ length: STEPS }, (_, step) => HOT + (1 - HOT) * Math.exp((-step * STEP_SECONDS) / HEATING_SECONDS)),
};
