import { NS_PER_US } from '#base/units.ts';
import type { BatcherPolicy } from '#queueing/batcher-policy.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';

const DEFAULT_IDLE_US = 1e6;

interface SequenceBatching {
  readonly max_sequence_idle_microseconds?: number;
  readonly direct?: { readonly max_queue_delay_microseconds?: number; readonly minimum_slot_utilization?: number };
  readonly oldest?: {
    readonly max_candidate_sequences?: number;
    readonly preferred_batch_size?: readonly number[];
    readonly max_queue_delay_microseconds?: number;
  };
}

interface SequencePolicy {
  /** The maximum number of sequences on an instance at a time. */
  readonly slots: number;
  /** Policy of the batcher of each instance. */
  readonly policy: BatcherPolicy;
  /** Time without a request after which a sequence is forgotten. */
  readonly idleNs: number;
}

/** Returns the policy of a config's sequence batcher. */
export function sequencePolicy(config: ModelConfig): SequencePolicy {
  const batching = config.sequence_batching as SequenceBatching;
  const max = Math.max(1, config.max_batch_size ?? 0);
  const { direct, oldest } = batching;
  const slots = oldest ? Math.max(1, Number(oldest.max_candidate_sequences ?? 0)) : max;
  const fill = Math.min(max, Math.max(1, Math.ceil((direct?.minimum_slot_utilization ?? 1) * max)));
  const preferred = oldest ? (oldest.preferred_batch_size ?? []) : [fill || max];
  const delayUs = Number((oldest ?? direct)?.max_queue_delay_microseconds ?? 0);
  return {
    slots,
    idleNs: (Number(batching.max_sequence_idle_microseconds ?? 0) || DEFAULT_IDLE_US) * NS_PER_US,
    policy: {
      maxBatchSize: max,
      // Without a delay a batch takes every slot with a request, however few are preferred.
      preferredBatchSizes: delayUs > 0 ? preferred : [],
      maxQueueDelayNs: delayUs * NS_PER_US,
      instances: 1,
      dynamicBatching: max > 1,
    },
  };
}
