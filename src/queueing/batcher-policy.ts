import { TrituneError } from '#base/errors.ts';
import { NS_PER_US } from '#base/units.ts';

/** The batching settings of a model config, in the batcher's terms. */
export type BatcherPolicy = {
  /** `max_batch_size`; 0 for a model without a batch dimension. */
  readonly maxBatchSize: number;
  /** `dynamic_batching.preferred_batch_size`; none means the maximum, as in Triton. */
  readonly preferredBatchSizes: readonly number[];
  /** `dynamic_batching.max_queue_delay_microseconds`, in nanoseconds. */
  readonly maxQueueDelayNs: number;
  /** Instances over all groups and devices. */
  readonly instances: number;
  /**
   * GPUs of the instances: only instances on one GPU slow each other. Absent: one GPU, or unknown.
   */
  readonly devices?: number;
  /** False: the default scheduler, one execution per request. */
  readonly dynamicBatching: boolean;
  /**
   * True unless a queue policy or priority levels are set: those make Triton form a batch only for
   * an idle instance.
   */
  readonly prefetch?: boolean;
};

type Spread = Pick<BatcherPolicy, 'instances' | 'devices'>;

/** Returns the mean number of instances on one of the devices. */
export const instancesPerDevice = ({ instances, devices = 1 }: Spread): number => instances / devices;

/**
 * Returns the mean number of busy instances on the device of an executing one, itself included,
 * given the total of busy ones: each of the others is on that device with the same chance.
 */
export function busyBeside({ instances, devices = 1 }: Spread, busyInstances: number): number {
  if (devices === 1 || instances <= 1) return busyInstances;
  return 1 + ((busyInstances - 1) * Math.max(0, instances / devices - 1)) / (instances - 1);
}

/** The batching settings of a model config: the fields of `ModelConfig`, by their own names. */
type BatchingConfig = {
  readonly max_batch_size?: number;
  readonly dynamic_batching?: {
    readonly preferred_batch_size?: readonly number[];
    /** Text beyond the integers that numbers hold exactly. */
    readonly max_queue_delay_microseconds?: number | string;
    readonly [field: string]: unknown;
  };
};

/**
 * Returns the batcher policy of a model with this config and number of instances. Unchecked:
 * `createBatcher` checks it.
 */
export function toPolicy(config: BatchingConfig, instances: number): BatcherPolicy {
  const batching = config.dynamic_batching;
  return {
    maxBatchSize: config.max_batch_size ?? 0,
    preferredBatchSizes: batching?.preferred_batch_size ?? [],
    maxQueueDelayNs: Number(batching?.max_queue_delay_microseconds ?? 0) * NS_PER_US,
    instances,
    dynamicBatching: batching !== undefined,
    prefetch: !hasQueuePolicy(batching),
  };
}

/** Triton forms batches ahead only when no queue policy and no priority levels are set. */
function hasQueuePolicy(batching: BatchingConfig['dynamic_batching']): boolean {
  if (!batching) return false;
  const { default_queue_policy: usual, priority_queue_policy: byLevel, priority_levels: levels } = batching;
  const policies = [usual, ...Object.values((byLevel as object | undefined) ?? {})];
  const isSet = (policy: unknown): boolean =>
    Object.values((policy as object | undefined) ?? {}).some((value) => value && value !== 'REJECT');
  return Number(levels ?? 0) > 0 || policies.some(isSet);
}

/**
 * Throws CONFIG_INVALID for numbers that Triton itself would refuse: preferred sizes outside 1…max,
 * negative delay, no instance.
 */
export function checkPolicy(policy: BatcherPolicy): void {
  const { maxBatchSize, preferredBatchSizes, maxQueueDelayNs } = policy;
  if (!Number.isInteger(maxBatchSize) || maxBatchSize < 0) {
    refuse(`max_batch_size is ${maxBatchSize}`, 'give an integer of at least 0');
  }
  const wrong = preferredBatchSizes.find((size) => !Number.isInteger(size) || size < 1 || size > maxBatchSize);
  if (wrong !== undefined) {
    refuse(`preferred_batch_size holds ${wrong}`, `give integers from 1 to max_batch_size (${maxBatchSize})`);
  }
  if (!(maxQueueDelayNs >= 0 && maxQueueDelayNs < Number.POSITIVE_INFINITY)) {
    refuse(`the queue delay is ${maxQueueDelayNs} ns`, 'give a finite delay of at least 0');
  }
  checkInstanceCount(policy.instances);
}

/** Throws CONFIG_INVALID unless it is an integer of at least 1. */
export function checkInstanceCount(instances: number): void {
  if (!Number.isInteger(instances) || instances < 1) {
    refuse(`the model has ${instances} instances`, 'give an integer of at least 1');
  }
}

function refuse(what: string, hint: string): never {
  throw new TrituneError('CONFIG_INVALID', `no batcher can run with this: ${what}`, hint);
}
