import { mean } from 'simple-statistics';
import { toChoice } from '#perfmodel/modelled-config.ts';
import { servicePoints } from '#perfmodel/observation.ts';
import { observe } from '#perfmodel/observe.ts';
import { toSettingsKey } from '#perfmodel/settings-key.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Candidate } from '#space/types.ts';
import type { NoisyReading } from '#stats/gaussian-process.ts';
import { DEVIATIONS_AT_95_PERCENT } from '#stats/normal.ts';
import { relativeHalfWidth } from '#stats/precision.ts';

/** A measurement and the time at which it ended, in seconds of the study's running time. */
export interface TimedMeasurement {
  readonly candidate: Candidate;
  readonly measurement: Measurement;
  readonly atSeconds: number;
  /** True for a measurement of the final. */
  readonly isFinal?: boolean;
  /** HOST:PORT of the server, if a study has several. */
  readonly server?: string;
  /** True for a measurement of the baseline: its server is the reference for the others. */
  readonly isBaseline?: boolean;
}

/** A moment whose log speed is a term of a reading, with its factor. */
export interface SpeedTerm {
  readonly atSeconds: number;
  readonly times: number;
}

/** The source of a reading, besides the speed. Numbers are logarithms to base 2. */
export type Source =
  | {
      readonly kind: 'execution';
      readonly fingerprint: string;
      readonly settingsKey: string;
      readonly batch: number;
      /** Busy ones on a device, which slow each other. */
      readonly busyInstances: number;
      readonly inFlight: number;
    }
  | { readonly kind: 'rate'; readonly key: string }
  | { readonly kind: 'host' }
  | { readonly kind: 'clock' }
  | { readonly kind: 'speed' };

/**
 * A point of the Gaussian process: the reading's source, and the moments whose speed it contains.
 */
export interface SpeedPlace {
  readonly source: Source;
  readonly terms: readonly SpeedTerm[];
}

/** The most batch sizes used per measurement, by their share of the time: they are much alike. */
const MAX_SIZES = 2;
const MIN_EXECUTIONS = 2;
/**
 * Noise of mean execution times: the same work on an undisturbed machine differs by 2 to 4 %
 * between measurements.
 */
const EXECUTION_SD = 0.03;
const ONE_EXECUTION_SD = 0.2;
/** Noise of throughput besides its own interval, likewise. */
const RATE_SD = 0.03;
/**
 * Noise of the host's fixed piece of work (measured on an idle core: 120 readings, sd 1 to 2 %).
 */
const HOST_SD = 0.03;
/**
 * Noise of the GPU clock as a measure of speed: execution slows with the clock where it computes,
 * less where it waits for memory.
 */
const CLOCK_SD = 0.05;

/**
 * Returns the readings that depend on the speed: execution times, throughput of repeated
 * measurements at one level, the host's own work and the GPU clock; all as logarithms.
 */
export function listEvidence(all: readonly TimedMeasurement[]): NoisyReading<SpeedPlace>[] {
  const usable = all.filter(({ measurement }) => !measurement.client.bound);
  const repeats = Map.groupBy(usable, formatPlace);
  return usable.flatMap((each) => [
    ...listExecutionEvidence(each),
    ...((repeats.get(formatPlace(each))?.length ?? 0) > 1 ? listRateEvidence(each) : []),
    ...listHostEvidence(each),
    ...listClockEvidence(each),
  ]);
}

const formatPlace = ({ candidate, measurement }: TimedMeasurement): string =>
  `${candidate.fingerprint} ${measurement.level.value} ${measurement.level.batch ?? ''}`;

function listExecutionEvidence({ candidate, measurement, atSeconds }: TimedMeasurement): NoisyReading<SpeedPlace>[] {
  const batches = (measurement.server?.batches ?? []).filter(
    ({ executions, meanExecutionUs }) => executions >= MIN_EXECUTIONS && meanExecutionUs > 0,
  );
  const byTime = [...batches].sort(
    (a, b) => b.executions * b.meanExecutionUs - a.executions * a.meanExecutionUs || a.size - b.size,
  );
  const settingsKey = toSettingsKey(candidate.shape);
  const busyInstances = Math.log2(findBusyInstances(candidate, measurement));
  return byTime.slice(0, MAX_SIZES).map(({ size, executions, meanExecutionUs }) => ({
    place: {
      source: {
        kind: 'execution',
        fingerprint: candidate.fingerprint,
        settingsKey,
        batch: Math.log2(Math.max(1, size)),
        busyInstances,
        inFlight: Math.log2(Math.max(1, findInFlight(measurement))),
      },
      terms: [{ atSeconds, times: -1 }],
    },
    value: Math.log(meanExecutionUs),
    noiseVariance: EXECUTION_SD ** 2 + ONE_EXECUTION_SD ** 2 / executions,
  }));
}

/**
 * Returns the instances that are busy during an execution, by Little's law; all of them for models
 * that the simulator does not know.
 */
function findBusyInstances(candidate: Candidate, measurement: Measurement): number {
  const [observation] = observe(toChoice(candidate), [measurement], undefined);
  const [point] = observation ? servicePoints(observation) : [];
  return point?.busyInstances ?? candidate.shape.policy.instances;
}

/** Returns the requests in flight; in an open loop by Little's law. */
const findInFlight = ({ level, throughput, latencyMs }: Measurement): number =>
  level.mode === 'concurrency' ? level.value : (throughput.value * latencyMs.avg) / 1e3;

/** Returns the reading of throughput; none in an open loop, where the rate is given. */
function listRateEvidence({ candidate, measurement, atSeconds }: TimedMeasurement): NoisyReading<SpeedPlace>[] {
  const { level, throughput } = measurement;
  if (level.mode !== 'concurrency' || throughput.value <= 0) return [];
  const deviation = Math.min(0.5, relativeHalfWidth(throughput) / DEVIATIONS_AT_95_PERCENT);
  return [
    {
      place: {
        source: { kind: 'rate', key: formatPlace({ candidate, measurement, atSeconds }) },
        terms: [{ atSeconds, times: 1 }],
      },
      value: Math.log(throughput.value),
      noiseVariance: RATE_SD ** 2 + deviation ** 2,
    },
  ];
}

function listHostEvidence({ measurement: { hostWorkUs }, atSeconds }: TimedMeasurement): NoisyReading<SpeedPlace>[] {
  return hostWorkUs === undefined ? [] : toReading('host', 1 / hostWorkUs, HOST_SD, atSeconds);
}

/** Returns the reading of the GPU clock, the mean over the GPUs. */
function listClockEvidence({ measurement: { device }, atSeconds }: TimedMeasurement): NoisyReading<SpeedPlace>[] {
  const clocks = (device.gpus ?? []).flatMap(({ clockMhz }) => clockMhz ?? []);
  return clocks.length === 0 ? [] : toReading('clock', mean(clocks), CLOCK_SD, atSeconds);
}

function toReading(kind: 'host' | 'clock', speed: number, sd: number, atSeconds: number): NoisyReading<SpeedPlace>[] {
  if (!(speed > 0 && Number.isFinite(speed))) return [];
  const place: SpeedPlace = { source: { kind }, terms: [{ atSeconds, times: 1 }] };
  return [{ place, value: Math.log(speed), noiseVariance: sd ** 2 }];
}
