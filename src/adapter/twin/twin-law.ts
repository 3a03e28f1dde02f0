import { median } from 'simple-statistics';
import { isJsonObject, type Json } from '#base/json.ts';
import { NS_PER_MS, NS_PER_S } from '#base/units.ts';
import type { Arm, ModelProfile } from '#emulator/profile/schema.ts';
import type { Observation } from '#perfmodel/observation.ts';
import { executionNs, type ServiceLaw } from '#queueing/service-law.ts';
import { toModelConfig } from '#space/model-configs.ts';
import type { Attempt } from '#study/analysis/memory-attempts.ts';
import { compareConfigs } from '#triton/config/comparison.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { FittedLaws } from './fitted-laws.ts';
import type { LoadSeconds } from './loads.ts';
import { measuredLaw } from './measured-law.ts';

/** Fields that a profile's laws and limits cover already. */
const COMMON = /^(max_batch_size|dynamic_batching\b.*|instance_group(\[\d+\](\.(count|name))?)?)$/;

/**
 * Returns the differences between a config and the original, except in instances and batching, as
 * an arm's conditions. null without any, and if an arm cannot express one: a key with other than
 * word characters, or a list of several values.
 */
function findConditions(original: ModelConfig, config: ModelConfig): Arm['when'] | null {
  const differences = compareConfigs(original, config).filter(({ path }) => !COMMON.test(path));
  const leaves = differences.flatMap(({ path, before, after }) =>
    after === undefined
      ? listLeaves(path, before ?? null).map(([gone]) => [gone, null] as const)
      : listLeaves(path, after),
  );
  const entries = leaves.map(([path, value]) => [path.replace(/\[\d+\]/g, ''), value] as const);
  const isNamed = entries.every(([path, value]) => /^[\w.]+$/.test(path) && !Array.isArray(value));
  return entries.length > 0 && isNamed ? Object.fromEntries(entries) : null;
}

/**
 * Returns the single values below a path. Servers add fields of their own, so whole messages never
 * compare equal.
 */
function listLeaves(path: string, value: Json): (readonly [string, Json])[] {
  if (Array.isArray(value) && value.length === 1) return listLeaves(path, value[0] as Json);
  if (!isJsonObject(value)) return [[path, value]];
  return Object.entries(value).flatMap(([name, below]) => {
    return below === undefined ? [] : listLeaves(`${path}${/^\w+$/.test(name) ? `.${name}` : `["${name}"]`}`, below);
  });
}

type LawFields = Omit<ModelProfile['law'], 'device_share' | 'turnaround_ms' | 'answer_lead_ms'>;

/** An arm of a twin's profile. */
export type TwinArm = Pick<Arm, 'name' | 'when' | 'execution_ms' | 'interference' | 'refuses' | 'load_s'>;

/**
 * Settings whose execution times are within this share of the model's own get no law of their own.
 */
const ALIKE = 0.02;
const LOADS_ALIKE = 0.25;
/**
 * The round trip of a local client of the emulator outside queue and execution, which need not be
 * added again.
 */
const EMULATOR_ROUND_TRIP_MS = 0.3;

/** Returns a service law in the fields of a profile. */
export function lawFields({ points, interference, atOnce, paddedSizes, cv, split }: ServiceLaw): LawFields {
  return {
    execution_ms: points.map(({ batchSize, executionNs: ns }) => [batchSize, microseconds(ns / NS_PER_MS)]),
    interference: { per_instance: microseconds(interference.perInstance), batch_exponent: interference.batchExponent },
    ...(atOnce !== undefined && { at_once: atOnce }),
    padded_sizes: [...paddedSizes],
    cv,
    split: { input: microseconds(split.input), output: microseconds(split.output) },
  };
}

/** The emulator's own time between executions, and per request that it answers. */
const EMULATOR_TURNAROUND_MS = { fixed: 0.03, perRequest: 0.012 };

/**
 * Returns the median time between executions on a server with full batches always waiting, less the
 * emulator's own.
 */
export function turnaroundMs(observations: readonly Observation[]): number {
  const gaps = observations.filter(isFull).map(({ policy, batches, requestsPerSecond, samplesPerRequest }) => {
    const executions = batches.reduce((sum, batch) => sum + batch.executions, 0);
    const samples = batches.reduce((sum, batch) => sum + batch.executions * batch.batchSize, 0);
    const meanNs = batches.reduce((sum, batch) => sum + batch.executions * batch.meanExecutionNs, 0) / executions;
    const executionsPerSecond = (requestsPerSecond * samplesPerRequest * executions) / samples;
    const gapMs = ((policy.instances / executionsPerSecond) * NS_PER_S - meanNs) / NS_PER_MS;
    const requests = samples / executions / samplesPerRequest;
    return gapMs - EMULATOR_TURNAROUND_MS.fixed - EMULATOR_TURNAROUND_MS.perRequest * requests;
  });
  return gaps.length === 0 ? 0 : microseconds(Math.max(0, median(gaps)));
}

/**
 * True if twice as many requests as all instances can execute were in flight, so that none waited
 * for work.
 */
function isFull({ policy, concurrency, samplesPerRequest, batches }: Observation): boolean {
  const atOnce = policy.dynamicBatching ? Math.max(1, policy.maxBatchSize) : samplesPerRequest;
  return batches.length > 0 && concurrency * samplesPerRequest >= 2 * policy.instances * atOnce;
}

/**
 * Returns network time and answer lead by the round trip outside queue and execution: if it is
 * longer than the emulator's, the rest is network time; if shorter, answers left before the end of
 * their execution.
 */
export function answerTimes(roundTripMs: number): { readonly network_ms: number; readonly answer_lead_ms: number } {
  return {
    network_ms: microseconds(Math.max(0, roundTripMs - EMULATOR_ROUND_TRIP_MS)),
    answer_lead_ms: microseconds(Math.max(0, EMULATOR_ROUND_TRIP_MS - roundTripMs)),
  };
}

/**
 * Returns the arm for one combination of settings: its config's differences from the original, and
 * the fields that differ from the model's own. null if no field differs, or if the difference
 * cannot be expressed.
 */
export function fitArm(
  attempts: readonly [Attempt, ...Attempt[]],
  original: ModelConfig,
  known: {
    readonly fitted: FittedLaws;
    readonly base: ServiceLaw;
    readonly loads: LoadSeconds;
    readonly refusal: string | null;
  },
): TwinArm | null {
  const [{ settingsKey, choice }] = attempts;
  const when = findConditions(original, toModelConfig(choice.candidate));
  if (!when) return null;
  const fitted = known.fitted.of(settingsKey);
  const seen =
    fitted &&
    measuredLaw(
      fitted,
      attempts.flatMap(({ observations }) => observations),
    );
  const law = seen && !isAlike(seen, known.base) ? lawFields(seen) : null;
  const seconds = known.loads.bySettings.get(settingsKey);
  const isSlow = seconds !== undefined && Math.abs(seconds / known.loads.fullSeconds - 1) > LOADS_ALIKE;
  if (!law && !isSlow && known.refusal === null) return null;
  return {
    name: Object.entries(when)
      .map(([path, value]) => `${path} ${value === null ? 'absent' : JSON.stringify(value)}`)
      .join(', '),
    when,
    ...(law && { execution_ms: law.execution_ms, interference: law.interference }),
    ...(known.refusal !== null && { refuses: known.refusal }),
    ...(isSlow && { load_s: seconds }),
  };
}

function isAlike(a: ServiceLaw, b: ServiceLaw): boolean {
  const sizes = a.points.map(({ batchSize }) => batchSize);
  return [1, 4].every((busy) =>
    sizes.every((size) => Math.abs(executionNs(a, size, busy) / executionNs(b, size, busy) - 1) <= ALIKE),
  );
}

/** Rounds milliseconds to microseconds; no profile needs more digits. */
const microseconds = (value: number): number => Math.round(value * 1e3) / 1e3;
