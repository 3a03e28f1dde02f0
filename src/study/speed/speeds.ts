import { mean } from 'simple-statistics';
import type { Measurement } from '#profiler/measurement.ts';
import type { GpuMetrics } from '#profiler/server-figures.ts';
import type { Candidate } from '#space/types.ts';
import { averagedPosterior, findExplanation, type NoisyReading, type Posterior } from '#stats/gaussian-process.ts';
import type { Interval } from '#stats/interval.ts';
import { DEVIATIONS_AT_95_PERCENT } from '#stats/normal.ts';
import { atSpeed } from './at-speed.ts';
import { listEvidence, type SpeedPlace, type SpeedTerm, type TimedMeasurement } from './evidence.ts';
import { speedHypotheses, type WitnessOdds, witnessOdds } from './kernels.ts';

/** The speed of machine and server over a study, relative to its first minute. */
export interface Speeds {
  /** The speed at a measurement with its 95 % interval; 1 for one that is not of the study. */
  of(measurement: Measurement): Interval;
  /** The median speed over the time of the search. */
  readonly usual: number;
  /**
   * Scales a measurement to the usual speed, to be compared with others: all times by the ratio of
   * the speeds, in a closed loop the throughput too; intervals widen by the uncertainty of the
   * speed. The same object where the speed was the usual one.
   */
  comparable(measurement: Measurement): Measurement;
  /** Speeds in the order of time. */
  readonly course: readonly SpeedAt[];
  /**
   * How many times as fast each server is as the first, by measurements made on both; absent for a
   * single server. The speed at a measurement includes that factor; `course` is of the first alone.
   */
  readonly servers?: readonly ServerSpeed[];
}

/** The speed at one measurement. */
export interface SpeedAt {
  readonly atSeconds: number;
  readonly speed: Interval;
  /** True for a measurement of the final. */
  readonly isFinal?: boolean;
  /** The GPUs meanwhile, if the server reports them. */
  readonly gpus?: readonly GpuMetrics[] | undefined;
}

/** The speed of one of several servers relative to the first. */
export interface ServerSpeed {
  /** HOST:PORT. */
  readonly server: string;
  readonly times: Interval;
}

/** Speeds are relative to the study's first minute. */
const FIRST_SECONDS = 60;
/**
 * The number of readings that are kept of a long study, because the cost of a fit grows with the
 * cube of their number: the first, the last, and some spread evenly in between.
 */
const KEPT = { first: 8, between: 10, last: 14 } as const;
/**
 * The error of the model on simulated machines beyond its own uncertainty (`bench-search --speed`),
 * as a standard deviation of logarithms.
 */
const MODEL_SD = 0.025;
const STEADY: Interval = { value: 1, low: 1, high: 1 };

/**
 * Estimates the speed of machine and server at each measurement, relative to the study's first
 * minute. Gaussian-process regression (Rasmussen and Williams, 2006, chapter 2) of the logarithms
 * that depend on the speed (`evidence.ts`): each is the sum of its source's value and the log speed
 * at its moment, an Ornstein-Uhlenbeck process with steps. Processes and steps are averaged by how
 * well they explain the readings, with a prior on a steady speed.
 */
export function fitSpeeds(all: readonly TimedMeasurement[]): Speeds {
  const [first] = all;
  if (!first || all.length === 1) return steadySpeeds(all);
  const kept = thinned(all);
  const evidence = listEvidence(kept);
  if (evidence.length === 0) return steadySpeeds(all);
  const offsets = computeCentres(evidence.map(({ place, value }) => ({ kind: place.source.kind, value })));
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
  // Only the kept ones: each is a term of every covariance.
  const begin = kept.filter(({ atSeconds }) => atSeconds <= first.atSeconds + FIRST_SECONDS);
  const reference = begin.map(({ atSeconds }): SpeedTerm => ({ atSeconds, times: -1 / begin.length }));
  const course = all.map(({ atSeconds, isFinal = false, measurement: { device } }) => {
    const log = posterior({ source: { kind: 'speed' }, terms: [{ atSeconds, times: 1 }, ...reference] });
    const half = DEVIATIONS_AT_95_PERCENT * Math.hypot(log.sd, MODEL_SD);
    const speed = { value: Math.exp(log.mean), low: Math.exp(log.mean - half), high: Math.exp(log.mean + half) };
    return { atSeconds, speed, gpus: device.gpus, ...(isFinal && { isFinal }) };
  });
  const usual = findUsual(course.filter((_, index) => !all[index]?.isFinal));
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

/** Returns the median speed, weighted by the time since the measurement before. */
function findUsual(course: Speeds['course']): number {
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

/** Steps of the speed, at most, and candidate moments for each. */
const MAX_STEPS = 4;
const LIKELY_MOMENTS = 4;

/**
 * Adds steps one by one where the speed changes most between two measurements, while the evidence
 * rises. The posterior is averaged over the hypotheses with all of these steps and without any.
 */
function withSteps(
  readings: readonly NoisyReading<SpeedPlace>[],
  odds: WitnessOdds,
  moments: readonly number[],
): Posterior<SpeedPlace> {
  let stepsSeconds: readonly number[] = [];
  const steady = findExplanation(readings, speedHypotheses(odds, []));
  let best = steady;
  while (stepsSeconds.length < MAX_STEPS) {
    const tried = likelySteps(best.posterior, moments, stepsSeconds).map((step) => {
      const steps = [...stepsSeconds, step];
      return { steps, explanation: findExplanation(readings, speedHypotheses(odds, steps, best.hypothesis)) };
    });
    const better = tried.sort((a, b) => b.explanation.evidence - a.explanation.evidence)[0];
    if (!better || better.explanation.evidence <= best.evidence) break;
    stepsSeconds = better.steps;
    best = better.explanation;
  }
  if (best === steady) return averagedPosterior(readings, steady.fits);
  const stepped = findExplanation(readings, speedHypotheses(odds, stepsSeconds));
  return averagedPosterior(readings, [...steady.fits, ...stepped.fits]);
}

/** Returns the moments between two measurements at which the speed changes most. */
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

const isOnCpu = ({ shape }: Candidate): boolean =>
  shape.groups.some(({ device }) => device === 'cpu' || device === 'model');

/** Estimates the speeds of a study: `fitSpeeds`, or `steadySpeeds`. */
export type EstimateSpeeds = (all: readonly TimedMeasurement[]) => Speeds;

/** Takes the speed to be constantly 1, so that nothing is corrected. */
export const steadySpeeds: EstimateSpeeds = (all) => ({
  of: () => STEADY,
  usual: 1,
  comparable: (measurement) => measurement,
  course: all.map(({ atSeconds }) => ({ atSeconds, speed: STEADY })),
});

/** Returns the mean of each kind of readings; the kernels describe deviations from it. */
function computeCentres(values: readonly { readonly kind: string; readonly value: number }[]): Map<string, number> {
  const kinds = Map.groupBy(values, ({ kind }) => kind);
  return new Map([...kinds].map(([kind, values]) => [kind, mean(values.map(({ value }) => value))]));
}
