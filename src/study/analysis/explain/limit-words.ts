import { formatFigure, formatMs, formatRate } from '#base/format.ts';
import type { StageBottleneck } from '#perfmodel/service-model.ts';
import { countFailedRequests, describeTooManyFailed } from '#profiler/failed-requests.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { toMetrics } from '../../goal/metrics/registry.ts';
import type { StudyState } from '../../records/state.ts';
import {
  describeConstraint,
  describeFullDevice,
  describeLevel,
  formatChange,
  MIN_INSTANCE_GAIN,
} from '../../summary/describe.ts';
import type { Limit, TimeSplit } from '../../summary/explanation-schema.ts';
import { chooseRateUnit } from '../../summary/rate-unit.ts';
import type { Trial } from '../../types.ts';
import { engineWords, preemptionWords, sequenceWords } from './engine-load.ts';
import { NO_MORE } from './limit.ts';

/** A limit, and the measurement that it limits. */
export interface LimitingFactor {
  readonly limit: Limit;
  readonly state: StudyState;
  readonly trial: Trial;
  /** As measured. */
  readonly measurement: Measurement;
  readonly split: TimeSplit;
  /** Of several models, by the network model; null for one model, and where it cannot say. */
  readonly bottleneck: StageBottleneck | null;
}

/** Returns a share from 0 to 1 in per cent. */
export const percent = (share: number | null | undefined): string => `${Math.round(100 * (share ?? 0))} %`;

// The functions below return parts of a phrase or sentence without a tense; '' if there is nothing
// to say.

/** The load of the instances; for a language model's engine that of its sequences. */
export const activityWords = ({ limit }: LimitingFactor): string =>
  limit.engine ? engineWords(limit.engine) : busyWords(limit);

/**
 * `encoder: 2 instances, 95 % busy, batches full at 16`; without the model's name where there is
 * only one.
 */
export function busyWords(limit: Limit): string {
  const words = instanceWords(limit);
  return words === '' || limit.stage === undefined ? words : `${limit.stage}: ${words}`;
}

/** The same without the model's name. */
export function instanceWords({ busyShare, instances, batch }: Limit): string {
  if (busyShare === null) return '';
  const who = `${instances} ${instances === 1 ? 'instance' : 'instances'}`;
  return [who, `${percent(busyShare)} busy`, ...(batch ? [batchWords(batch)] : [])].join(', ');
}

/** A mean of at least this share of the largest batch is a full one. */
const FULL_BATCH = 0.97;

const batchWords = ({ mean, most }: NonNullable<Limit['batch']>): string =>
  mean >= FULL_BATCH * most ? `batches full at ${most}` : `mean batch ${formatFigure(mean)} of at most ${most}`;

/**
 * The effect of one more instance of the model that limits, or of any; '' for one model, and where
 * the model cannot say.
 */
export function oneMoreWords({ limit, bottleneck }: LimitingFactor): string {
  if (limit.device !== undefined) return `${describeFullDevice(limit.device)}: one more instance of any gives nothing`;
  if (!bottleneck) return '';
  if (bottleneck.gain < MIN_INSTANCE_GAIN) return 'one more instance of any model gives nothing';
  return bottleneck.stage === limit.stage ? `one more is expected to give ${formatChange(bottleneck.gain)}` : '';
}

/** Of several models the one that limits, to stand behind a limit of the goal; '' for one model. */
export const stageWords = (limitingFactor: LimitingFactor): string =>
  limitingFactor.limit.stage === undefined
    ? ''
    : [`the busiest model is ${busyWords(limitingFactor.limit)}`, oneMoreWords(limitingFactor)]
        .filter((words) => words !== '')
        .join('; ');

export const gpuWords = ({ gpuShare }: Limit): string =>
  gpuShare === null ? '' : `the GPU is ${percent(gpuShare)} used`;

/**
 * What a phrase on the engine leaves out: how many sequences run and lose their place, and the
 * limit that the next level misses.
 */
export function engineEvidence(limitingFactor: LimitingFactor): readonly string[] {
  const { engine, missed } = limitingFactor.limit;
  if (!engine) return [];
  const running = sequenceWords({ running: engine.running, waiting: null });
  return [running, preemptionWords(engine), missed ? '' : missedWords(limitingFactor)];
}

export const waitingWords = ({ engine }: Limit): string =>
  engine?.waiting ? `${formatFigure(engine.waiting)} requests wait` : '';

/** The level of the measurement. */
export const ownLevel = ({ measurement }: LimitingFactor): string => describeLevel(measurement.level);

/** The next higher level that was measured. */
export function nextLevel({ limit: { higher }, measurement: { level } }: LimitingFactor): string {
  if (!higher) return 'a higher level';
  return describeLevel({ ...level, value: higher.level, ...(higher.batch !== undefined && { batch: higher.batch }) });
}

/** The throughput at the next higher level. */
export const nextRate = ({ limit: { higher }, measurement }: LimitingFactor): string =>
  higher ? `that level served ${formatRate(higher.throughput, chooseRateUnit(measurement))}` : '';

/** The next higher level, if it serves no more. */
export function noMoreWords(limitingFactor: LimitingFactor): string {
  const { higher } = limitingFactor.limit;
  return higher && higher.throughput <= NO_MORE * limitingFactor.measurement.throughput.value
    ? `${nextLevel(limitingFactor)} served no more (${formatRate(higher.throughput, chooseRateUnit(limitingFactor.measurement))})`
    : '';
}

/** The first missed constraint, at the measurement's own level or at the next one. */
export function missedWords(limitingFactor: LimitingFactor): string {
  const { missed, higher } = limitingFactor.limit;
  const constraint = missed ?? higher?.missed;
  if (!constraint) return '';
  const failed =
    missed?.metric === 'error-rate' &&
    describeTooManyFailed(countFailedRequests(limitingFactor.measurement), missed.value);
  if (failed) return `${ownLevel(limitingFactor)}: ${failed}`;
  return `${missed ? ownLevel(limitingFactor) : nextLevel(limitingFactor)} misses ${describeConstraint(constraint, toMetrics(limitingFactor.state.goal))}`;
}

/** The latency beside its budget, or the level at which it is missed. */
export function budgetWords(limitingFactor: LimitingFactor): string {
  const { limit, state, measurement } = limitingFactor;
  if (!limit.missed && limit.higher?.missed) return `${nextLevel(limitingFactor)} misses it`;
  const { percentile, value } = state.speeds.comparable(measurement).budgetLatencyMs;
  return `p${percentile} ${formatMs(value)} of ${formatMs(state.goal.budget?.latencyMs ?? value)}`;
}

export function latencyWords({ state, measurement }: LimitingFactor): string {
  const { percentile, value } = state.speeds.comparable(measurement).budgetLatencyMs;
  return Number.isFinite(value) ? `p${percentile} is ${formatMs(value)} there` : '';
}

/** Why the load generator was the limit. */
export function clientWords(limitingFactor: LimitingFactor): string {
  const { client } = limitingFactor.measurement;
  if (client.bound) return client.reason ?? 'it could not keep up';
  return `at ${nextLevel(limitingFactor)} ${limitingFactor.limit.higher?.clientReason ?? 'it could not keep up'}`;
}
