import { median } from 'simple-statistics';
import { NS_PER_MS, NS_PER_S } from '../../base/units.ts';
import type { Arm, ModelProfile } from '../../emulator/profile-schema.ts';
import type { Observation } from '../../queueing/observation.ts';
import { executionNs, type ServiceLaw } from '../../queueing/service-law.ts';
import type { ModelConfig } from '../../triton/model-config.ts';
import type { Attempt } from './attempts.ts';
import { conditionsOf } from './conditions.ts';
import type { FittedLaws } from './fitted-laws.ts';
import type { LoadSeconds } from './loads.ts';
import { measuredLaw } from './measured-law.ts';

type LawFields = Omit<ModelProfile['law'], 'turnaround_ms' | 'answer_lead_ms'>;

/** An arm as a twin has one. */
export type TwinArm = Pick<Arm, 'name' | 'when' | 'execution_ms' | 'interference' | 'refuses' | 'load_s'>;

/** Variants whose execution times are this near to the model's own share its law. */
const ALIKE = 0.02;
const LOADS_ALIKE = 0.25;
/** What a client of the emulator on the same machine sees beside queue and execution: it need not be added again. */
const EMULATOR_ROUND_TRIP_MS = 0.3;

/** A law in a profile's words. */
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

/** From one execution to the next the emulator itself needs so long, and so much more for each request that it answers. */
const EMULATOR_TURNAROUND_MS = { fixed: 0.03, perRequest: 0.012 };

/**
 * What the executions of a server that always had full batches waiting do not account for of its time, and what the
 * emulator does not need anyway; a median.
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

/** Twice as many requests as all instances can execute at once: none ever waits for work. */
function isFull({ policy, concurrency, samplesPerRequest, batches }: Observation): boolean {
  const atOnce = policy.dynamicBatching ? Math.max(1, policy.maxBatchSize) : samplesPerRequest;
  return batches.length > 0 && concurrency * samplesPerRequest >= 2 * policy.instances * atOnce;
}

/**
 * What clients saw beside queue and execution, against what they see of the emulator: more is the network's; less, and the
 * answers left before their execution ended by the statistics.
 */
export function answerTimes(roundTripMs: number): { readonly network_ms: number; readonly answer_lead_ms: number } {
  return {
    network_ms: microseconds(Math.max(0, roundTripMs - EMULATOR_ROUND_TRIP_MS)),
    answer_lead_ms: microseconds(Math.max(0, EMULATOR_ROUND_TRIP_MS - roundTripMs)),
  };
}

/**
 * The arm for a variant of the model: where its config differs from the original, and what is then other than the model's
 * own. null when nothing is, and when the difference has no path that an arm can name.
 */
export function armOf(
  variant: readonly [Attempt, ...Attempt[]],
  original: ModelConfig,
  known: {
    readonly fitted: FittedLaws;
    readonly base: ServiceLaw;
    readonly loads: LoadSeconds;
    readonly refusal: string | null;
  },
): TwinArm | null {
  const [{ variant: name, config }] = variant;
  const when = conditionsOf(original, config);
  if (!when) return null;
  const fitted = known.fitted.of(name);
  const seen =
    fitted &&
    measuredLaw(
      fitted,
      variant.flatMap(({ observations }) => observations),
    );
  const law = seen && !isAlike(seen, known.base) ? lawFields(seen) : null;
  const seconds = known.loads.byVariant.get(name);
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

/** Of milliseconds; no profile needs more digits. */
const microseconds = (value: number): number => Math.round(value * 1e3) / 1e3;
