import { mean } from 'simple-statistics';
import { variantOf } from '../../perfmodel/variant.ts';
import type { Measurement } from '../../profiler/measurement.ts';
import type { Candidate } from '../../space/types.ts';
import type { Reading } from '../../stats/gaussian-process.ts';
import { DEVIATIONS_AT_95_PERCENT } from '../../stats/normal.ts';
import { relativeHalfWidth } from '../../stats/precision.ts';
import { instancesOf } from '../../triton/instances.ts';

/** A measurement, and when in the study it ended: seconds in which a run was under way. */
export interface TimedMeasurement {
  readonly candidate: Candidate;
  readonly measurement: Measurement;
  readonly atSeconds: number;
  /** It is of the final: what the search compared was measured before. */
  readonly isFinal?: boolean;
}

/** A moment at which the logarithm of the speed counts, and how often. */
export interface SpeedTerm {
  readonly atSeconds: number;
  readonly times: number;
}

/** What a logarithm that depends on the speed is of, beside the speed. Numbers are logarithms to base 2. */
export type Source =
  | {
      readonly kind: 'execution';
      readonly fingerprint: string;
      readonly variant: string;
      readonly batch: number;
      readonly instances: number;
      readonly inFlight: number;
    }
  | { readonly kind: 'rate'; readonly key: string }
  | { readonly kind: 'host' }
  | { readonly kind: 'clock' }
  | { readonly kind: 'speed' };

/** A place of the Gaussian process: what was read, and the moments whose speed is in it. */
export interface SpeedPlace {
  readonly source: Source;
  readonly terms: readonly SpeedTerm[];
}

/** Statistics by batch size of one measurement are much alike: the sizes that took most of the time tell it all. */
const MOST_SIZES = 2;
const LEAST_EXECUTIONS = 2;
/** Mean execution times of the same work on an undisturbed machine differ by 2 to 4 % from one measurement to the next. */
const EXECUTION_SD = 0.03;
const ONE_EXECUTION_SD = 0.2;
/** Throughput of the same config at the same level likewise, beside what its interval says. */
const RATE_SD = 0.03;
/** The fixed piece of work takes the same time within 2 % on an idle, undisturbed core (measured: 120 readings, sd 1 to 2 %). */
const HOST_SD = 0.03;
/** A GPU whose clock falls by a tenth computes a tenth slower where it computes all the time, and less where it waits for memory. */
const CLOCK_SD = 0.05;

/** Returns the logarithms that tell of the speed: execution times, throughput of what was measured more than once at one level, the host's own work. */
export function evidenceOf(all: readonly TimedMeasurement[]): Reading<SpeedPlace>[] {
  const usable = all.filter(({ measurement }) => !measurement.client.bound);
  const repeats = Map.groupBy(usable, placeOf);
  return usable.flatMap((each) => [
    ...executionsOf(each),
    ...((repeats.get(placeOf(each))?.length ?? 0) > 1 ? rateOf(each) : []),
    ...hostOf(each),
    ...clockOf(each),
  ]);
}

const placeOf = ({ candidate, measurement }: TimedMeasurement): string =>
  `${candidate.fingerprint} ${measurement.level.value}`;

function executionsOf({ candidate, measurement, atSeconds }: TimedMeasurement): Reading<SpeedPlace>[] {
  const batches = (measurement.server?.batches ?? []).filter(
    ({ executions, meanExecutionUs }) => executions >= LEAST_EXECUTIONS && meanExecutionUs > 0,
  );
  const byTime = [...batches].sort(
    (a, b) => b.executions * b.meanExecutionUs - a.executions * a.meanExecutionUs || a.size - b.size,
  );
  const variant = variantOf(candidate.config);
  const instances = Math.log2(instancesOf(candidate.config));
  return byTime.slice(0, MOST_SIZES).map(({ size, executions, meanExecutionUs }) => ({
    place: {
      source: {
        kind: 'execution',
        fingerprint: candidate.fingerprint,
        variant,
        batch: Math.log2(Math.max(1, size)),
        instances,
        inFlight: Math.log2(Math.max(1, inFlightOf(measurement))),
      },
      terms: [{ atSeconds, times: -1 }],
    },
    value: Math.log(meanExecutionUs),
    noiseVariance: EXECUTION_SD ** 2 + ONE_EXECUTION_SD ** 2 / executions,
  }));
}

/** In an open loop by Little's law. */
const inFlightOf = ({ level, throughput, latencyMs }: Measurement): number =>
  level.mode === 'concurrency' ? level.value : (throughput.value * latencyMs.avg) / 1e3;

/** In an open loop the rate is what was asked for. */
function rateOf({ candidate, measurement, atSeconds }: TimedMeasurement): Reading<SpeedPlace>[] {
  const { level, throughput } = measurement;
  if (level.mode !== 'concurrency' || throughput.value <= 0) return [];
  const own = Math.min(0.5, relativeHalfWidth(throughput) / DEVIATIONS_AT_95_PERCENT);
  return [
    {
      place: {
        source: { kind: 'rate', key: placeOf({ candidate, measurement, atSeconds }) },
        terms: [{ atSeconds, times: 1 }],
      },
      value: Math.log(throughput.value),
      noiseVariance: RATE_SD ** 2 + own ** 2,
    },
  ];
}

function hostOf({ measurement: { hostWorkUs }, atSeconds }: TimedMeasurement): Reading<SpeedPlace>[] {
  return hostWorkUs === undefined ? [] : readingOf('host', 1 / hostWorkUs, HOST_SD, atSeconds);
}

/** The mean over the GPUs. */
function clockOf({ measurement: { device }, atSeconds }: TimedMeasurement): Reading<SpeedPlace>[] {
  const clocks = (device.gpus ?? []).flatMap(({ clockMhz }) => clockMhz ?? []);
  return clocks.length === 0 ? [] : readingOf('clock', mean(clocks), CLOCK_SD, atSeconds);
}

function readingOf(kind: 'host' | 'clock', speed: number, sd: number, atSeconds: number): Reading<SpeedPlace>[] {
  if (!(speed > 0 && Number.isFinite(speed))) return [];
  const place: SpeedPlace = { source: { kind }, terms: [{ atSeconds, times: 1 }] };
  return [{ place, value: Math.log(speed), noiseVariance: sd ** 2 }];
}
