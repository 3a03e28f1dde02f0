import type { Json, JsonObject } from '#base/json.ts';
import type { Int64 } from './scalars.ts';

/**
 * A model config in the server's own JSON form: protobuf field names in snake_case, enums by name,
 * or by a name or number of a newer server, integers as numbers, or as text where only that is
 * exact (`Int64`). Both protocols and the config.pbtxt reader return this form, with the same
 * values for the same config. Only the fields that tritune reasons about are typed; all other
 * fields of ModelConfig are carried along unchanged.
 */
export type ModelConfig = {
  readonly name?: string;
  readonly platform?: string;
  readonly backend?: string;
  readonly max_batch_size?: number;
  readonly input?: readonly TensorConfig[];
  readonly output?: readonly TensorConfig[];
  readonly instance_group?: readonly InstanceGroup[];
  readonly dynamic_batching?: DynamicBatching;
  readonly sequence_batching?: JsonObject;
  readonly ensemble_scheduling?: JsonObject;
  readonly optimization?: JsonObject;
  readonly parameters?: { readonly [key: string]: { readonly string_value?: string } };
  readonly model_transaction_policy?: { readonly decoupled?: boolean };
  readonly response_cache?: { readonly enable?: boolean };
  readonly version_policy?: JsonObject;
  readonly [field: string]: Json | undefined;
};

export type TensorConfig = {
  readonly name: string;
  /** As in the config: TYPE_FP32, TYPE_STRING, … (metadata and requests say FP32, BYTES). */
  readonly data_type: string | number;
  /** Without the batch dimension; -1 is any size. */
  readonly dims: readonly Int64[];
  readonly optional?: boolean;
  readonly [field: string]: Json | undefined;
};

export type InstanceGroup = {
  readonly name?: string;
  readonly count?: number;
  /** KIND_AUTO, KIND_CPU, KIND_GPU or KIND_MODEL. */
  readonly kind?: string | number;
  readonly gpus?: readonly number[];
  readonly [field: string]: Json | undefined;
};

export type DynamicBatching = {
  readonly preferred_batch_size?: readonly number[];
  readonly max_queue_delay_microseconds?: Int64;
  readonly [field: string]: Json | undefined;
};
