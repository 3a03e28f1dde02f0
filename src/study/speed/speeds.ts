import { mean } from 'simple-statistics';
import type { Measurement } from '../../profiler/measurement.ts';
import type { Candidate } from '../../space/types.ts';
import { explanationOf, type Posterior, type Reading } from '../../stats/gaussian-process.ts';
import type { Interval } from '../../stats/interval.ts';
import { DEVIATIONS_AT_95_PERCENT } from '../../stats/normal.ts';
import { atSpeed } from './at-speed.ts';
import { evidenceOf, type SpeedPlace, type SpeedTerm, type TimedMeasurement } from './evidence.ts';
import { speedHypotheses, type WitnessOdds, witnessOdds } from './kernels.ts';

/** The speed of machine and server at some moments of a study, relative to its first minute. */
export interface Speeds {
  /** At the moment of the measurement, with its 95 % interval; 1 for one that is not of the study. */
  of(measurement: Measurement): Interval;
  /** The speed that the machine mostly had while the study searched: the median over that time. */
  readonly usual: number;
  /**
   * The measurement as it would have been at the usual speed, to be compared with others: all times by the ratio of the speeds, in a
   * closed loop the throughput too, and intervals wider by what is not known of the speed. The same object where the speed was the usual one.
   */
  comparable(measurement: Measurement): Measurement;
  /** In the order of time. `isFinal`: of a measurement of the final. */
  readonly course: readonly { readonly atSeconds: number; readonly speed: Interval; readonly isFinal?: boolean }[];
}

/** The study's first minute is what speeds are relative to. */
const FIRST_SECONDS = 60;
/** The cost of a fit grows with the cube of the readings: of a long study these are kept, and so many evenly spaced between them. */
const KEPT = { first: 8, between: 10, last: 14 } as const;
/** What the model itself is off by: the error that it made on simulated machines (`bench-search --speed`), beside what it knew of. */
const MODEL_SD = 0.025;
const STEADY: Interval = { value: 1, low: 1, high: 1 };

/**
 * Estimates how fast machine and server were at each measurement, relative to the study's first minute: Gaussian-process regression
 * (Rasmussen and Williams, 2006, chapter 2) of the logarithms that feel the speed (`evidence.ts`), each the sum of what it is of and
 * of the speed at its moment, an Ornstein-Uhlenbeck process with steps. How much the speed wanders, and when it steps, is what explains
 * the readings best; that it hardly does either is likelier beforehand.
 */
export function speedsOf(all: readonly TimedMeasurement[]): Speeds {
  const [first] = all;
  if (!first || all.length === 1) return steadySpeeds(all);
  const kept = thinned(all);
  const evidence = evidenceOf(kept);
  if (evidence.length === 0) return steadySpeeds(all);
  const offsets = centresOf(evidence.map(({ place, value }) => ({ kind: place.source.kind, value })));
  const readings = evidence.map((reading) => ({
    ...reading,
    value: reading.value - (offsets.get(reading.place.source.kind) ?? 0),
  }));
  const odds = witnessOdds(new Set(offsets.keys()), isOnCpu(first.candidate));
  const posterior = withSteps(
    readings,
    odds,
    kept.map(({ atSeconds }) => atSeconds),
  );
  // Of many, those that were kept: each is a term of every covariance.
  const begin = kept.filter(({ atSeconds }) => atSeconds <= first.atSeconds + FIRST_SECONDS);
  const reference = begin.map(({ atSeconds }): SpeedTerm => ({ atSeconds, times: -1 / begin.length }));
  const course = all.map(({ atSeconds, isFinal = false }) => {
    const log = posterior({ source: { kind: 'speed' }, terms: [{ atSeconds, times: 1 }, ...reference] });
    const half = DEVIATIONS_AT_95_PERCENT * Math.hypot(log.sd, MODEL_SD);
    const speed = { value: Math.exp(log.mean), low: Math.exp(log.mean - half), high: Math.exp(log.mean + half) };
    return { atSeconds, speed, ...(isFinal && { isFinal }) };
  });
  const usual = usualOf(course.filter((_, index) => !all[index]?.isFinal));
  const bySpeed = new Map(all.map(({ measurement }, index) => [measurement, course[index]?.speed ?? STEADY]));
  const scaled = new Map<Measurement, Measurement>();
  const of = (measurement: Measurement): Interval => bySpeed.get(measurement) ?? STEADY;
  return {
    of,
    usual,
    comparable(measurement) {
      const known = scaled.get(measurement) ?? atSpeed(measurement, of(measurement), usual);
      scaled.set(measurement, known);
      return known;
    },
    course,
  };
}

function thinned(all: readonly TimedMeasurement[]): readonly TimedMeasurement[] {
  const { first, between, last } = KEPT;
  if (all.length <= first + between + last) return all;
  const middle = all.slice(first, -last);
  const spaced = Array.from({ length: between }, (_, at) => middle[Math.floor(((at + 0.5) * middle.length) / between)]);
  return [...all.slice(0, first), ...spaced.filter((each) => each !== undefined), ...all.slice(-last)];
}

/** Each measurement stands for the time since the one before. */
function usualOf(course: Speeds['course']): number {
  const spans = course.map(({ atSeconds, speed }, index) => ({
    speed: speed.value,
    seconds: Math.max(0, atSeconds - (course[index - 1]?.atSeconds ?? atSeconds)),
  }));
  const sorted = spans.sort((a, b) => a.speed - b.speed);
  let left = sorted.reduce((sum, { seconds }) => sum + seconds, 0) / 2;
  for (const { speed, seconds } of sorted) {
    left -= seconds;
    if (left <= 0) return speed;
  }
  return 1;
}

/** So many steps of the speed are looked for at most, each among so many moments. */
const MOST_STEPS = 4;
const LIKELY_MOMENTS = 4;

/** Adds one step after the other where the speed changes most between two measurements, as long as that explains the readings better. */
function withSteps(
  readings: readonly Reading<SpeedPlace>[],
  odds: WitnessOdds,
  moments: readonly number[],
): Posterior<SpeedPlace> {
  let stepsSeconds: readonly number[] = [];
  let best = explanationOf(readings, speedHypotheses(odds, stepsSeconds));
  while (stepsSeconds.length < MOST_STEPS) {
    const tried = likelySteps(best.posterior, moments, stepsSeconds).map((step) => {
      const steps = [...stepsSeconds, step];
      return { steps, explanation: explanationOf(readings, speedHypotheses(odds, steps, best.hypothesis)) };
    });
    const better = tried.sort((a, b) => b.explanation.evidence - a.explanation.evidence)[0];
    if (!better || better.explanation.evidence <= best.evidence) break;
    stepsSeconds = better.steps;
    best = better.explanation;
  }
  return best.posterior;
}

/** The moments between two measurements at which the speed seems to change most. */
function likelySteps(posterior: Posterior<SpeedPlace>, moments: readonly number[], known: readonly number[]): number[] {
  const speedAt = (atSeconds: number): number =>
    posterior({ source: { kind: 'speed' }, terms: [{ atSeconds, times: 1 }] }).mean;
  const logs = moments.map(speedAt);
  return moments
    .slice(1)
    .map((moment, index) => ({
      at: ((moments[index] as number) + moment) / 2,
      change: Math.abs((logs[index + 1] as number) - (logs[index] as number)),
    }))
    .filter(({ at }) => !known.includes(at))
    .sort((a, b) => b.change - a.change)
    .slice(0, LIKELY_MOMENTS)
    .map(({ at }) => at);
}

const isOnCpu = ({ config }: Candidate): boolean =>
  config.instance_group?.some(({ kind }) => kind === 'KIND_CPU' || kind === 'KIND_MODEL') ?? false;

/** How the speeds of a study are found: by `speedsOf`, or not at all. */
export type EstimateSpeeds = (all: readonly TimedMeasurement[]) => Speeds;

/** Takes the speed for 1 throughout, so that nothing is corrected. */
export const steadySpeeds: EstimateSpeeds = (all) => ({
  of: () => STEADY,
  usual: 1,
  comparable: (measurement) => measurement,
  course: all.map(({ atSeconds }) => ({ atSeconds, speed: STEADY })),
});

/** Readings of one kind vary about their mean: what is left is small beside the kernels' widths. */
function centresOf(values: readonly { readonly kind: string; readonly value: number }[]): Map<string, number> {
  const kinds = Map.groupBy(values, ({ kind }) => kind);
  return new Map([...kinds].map(([kind, own]) => [kind, mean(own.map(({ value }) => value))]));
}
