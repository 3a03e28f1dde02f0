import { TrituneError } from '../base/errors.ts';

/** What a model config says about batching, in the batcher's terms. */
export type BatcherPolicy = {
  /** `max_batch_size`; 0 for a model without a batch dimension. */
  readonly maxBatchSize: number;
  /** `dynamic_batching.preferred_batch_size`; none means the maximum, as in Triton. */
  readonly preferredBatchSizes: readonly number[];
  /** `dynamic_batching.max_queue_delay_microseconds`, in nanoseconds. */
  readonly maxQueueDelayNs: number;
  /** Instances over all groups and devices. */
  readonly instances: number;
  /** False: the default scheduler, one execution per request. */
  readonly dynamicBatching: boolean;
  /** True unless a queue policy or priority levels are set: those make Triton form a batch only for an idle instance. */
  readonly prefetch?: boolean;
};

/**
 * Throws CONFIG_INVALID for numbers that Triton itself would refuse: preferred sizes outside 1…max, negative delay,
 * no instance.
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
