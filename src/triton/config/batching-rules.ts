import { type ConfigFault, faultIf, preferredSizeFaults } from './fault.ts';
import type { ModelConfig } from './model-config.ts';
import type { Int64 } from './scalars.ts';

type QueuePolicy = { readonly timeout_action?: string; readonly default_timeout_microseconds?: Int64 };

type DynamicBatchingFields = {
  readonly preferred_batch_size?: readonly number[];
  readonly preserve_ordering?: boolean;
  readonly priority_levels?: Int64;
  readonly default_priority_level?: Int64;
  readonly default_queue_policy?: QueuePolicy;
  readonly priority_queue_policy?: { readonly [level: string]: QueuePolicy };
};

export function dynamicBatchingFaults(config: ModelConfig): readonly ConfigFault[] {
  const batching = config.dynamic_batching as DynamicBatchingFields | undefined;
  if (!batching) return [];
  const preferred = batching.preferred_batch_size ?? [];
  return [
    ...preferredSizeFaults(preferred, config.max_batch_size ?? 0, 'dynamic_batching.preferred_batch_size'),
    ...priorityFaults(batching),
    ...(batching.preserve_ordering ? orderFaults(batching) : []),
  ];
}

function priorityFaults(batching: DynamicBatchingFields): readonly ConfigFault[] {
  const levels = BigInt(batching.priority_levels ?? 0);
  if (levels === 0n) return [];
  const usual = BigInt(batching.default_priority_level ?? 0);
  const isLevel = (level: bigint): boolean => level >= 1n && level <= levels;
  const range = `must be in 1 to priority_levels ${levels}`;
  return [
    ...faultIf(!isLevel(usual), 'dynamic_batching.default_priority_level', `${usual} ${range}`),
    ...Object.keys(batching.priority_queue_policy ?? {}).flatMap((level) =>
      faultIf(!isLevel(BigInt(level)), `dynamic_batching.priority_queue_policy["${level}"]`, `the level ${range}`),
    ),
  ];
}

function orderFaults(batching: DynamicBatchingFields): readonly ConfigFault[] {
  const delays = (policy: QueuePolicy): boolean =>
    policy.timeout_action === 'DELAY' && (policy.default_timeout_microseconds ?? 0) !== 0;
  const policies = Object.entries(batching.priority_queue_policy ?? {}).map(
    ([level, policy]) => [`priority_queue_policy["${level}"]`, policy] as const,
  );
  return [
    ...faultIf(
      Number(batching.priority_levels ?? 0) > 1,
      'dynamic_batching.priority_levels',
      'must be at most 1 with preserve_ordering',
    ),
    ...[['default_queue_policy', batching.default_queue_policy ?? {}] as const, ...policies].flatMap(([name, policy]) =>
      faultIf(delays(policy), `dynamic_batching.${name}`, 'cannot DELAY requests with preserve_ordering'),
    ),
  ];
}

type Control = {
  readonly kind?: string;
  readonly data_type?: string;
  readonly int32_false_true?: readonly unknown[];
  readonly fp32_false_true?: readonly unknown[];
  readonly bool_false_true?: readonly unknown[];
};

type SequenceBatchingFields = {
  readonly iterative_sequence?: boolean;
  readonly oldest?: { readonly preferred_batch_size?: readonly number[] };
  readonly direct?: { readonly minimum_slot_utilization?: number | string };
  readonly control_input?: readonly { readonly name?: string; readonly control?: readonly Control[] }[];
};

export function sequenceBatchingFaults(config: ModelConfig): readonly ConfigFault[] {
  const batching = config.sequence_batching as SequenceBatchingFields | undefined;
  if (!batching) return [];
  const preferred = batching.oldest?.preferred_batch_size ?? [];
  const slots = Number(batching.direct?.minimum_slot_utilization ?? 0);
  return [
    ...preferredSizeFaults(preferred, config.max_batch_size ?? 0, 'sequence_batching.oldest.preferred_batch_size'),
    ...faultIf(slots < 0 || slots > 1, 'sequence_batching.direct.minimum_slot_utilization', 'must be in 0 to 1'),
    ...controlFaults(batching),
  ];
}

const start = 'CONTROL_SEQUENCE_START'; // the enum's default, which the normal form leaves out
const correlationId = 'CONTROL_SEQUENCE_CORRID';
const idTypes = ['TYPE_UINT64', 'TYPE_INT64', 'TYPE_UINT32', 'TYPE_INT32', 'TYPE_STRING'];

/**
 * True if the model executes a request several times, in batches with others, until it is answered.
 * The server counts each time as a request (seen on Triton 2.51).
 */
export const isIterative = (config: ModelConfig): boolean =>
  (config.sequence_batching as SequenceBatchingFields | undefined)?.iterative_sequence === true;

/** True if clients send the model requests that belong together; one of its own otherwise. */
export const takesSequences = (config: ModelConfig): boolean =>
  config.sequence_batching !== undefined && !isIterative(config);

/** True if the model takes the correlation ids of its sequences as texts. */
export function takesTextIds(config: ModelConfig): boolean {
  const batching = config.sequence_batching as SequenceBatchingFields | undefined;
  const controls = (batching?.control_input ?? []).flatMap(({ control = [] }) => control);
  return controls.some(({ kind, data_type: type }) => kind === correlationId && type === 'TYPE_STRING');
}

function controlFaults(batching: SequenceBatchingFields): readonly ConfigFault[] {
  const names = new Set<string>();
  const kinds = new Set<string>();
  return (batching.control_input ?? []).flatMap(({ name = '', control = [] }, i) => {
    const path = `sequence_batching.control_input[${i}]`;
    const nameFaults = [
      ...faultIf(name === '', `${path}.name`, 'must be given'),
      ...faultIf(names.has(name), `${path}.name`, `'${name}' is given twice`),
    ];
    names.add(name);
    const faults = control.flatMap((one, j) => {
      const kind = one.kind ?? start;
      const twice = faultIf(kinds.has(kind), `${path}.control[${j}].kind`, `${kind} is given twice`);
      kinds.add(kind);
      return [...twice, ...oneControlFaults(one, kind, `${path}.control[${j}]`)];
    });
    return [...nameFaults, ...faults];
  });
}

function oneControlFaults(control: Control, kind: string, path: string): readonly ConfigFault[] {
  const pairs = [control.int32_false_true, control.fp32_false_true, control.bool_false_true].filter((pair) => pair);
  if (kind === correlationId) {
    const typed = idTypes.includes(control.data_type ?? '');
    return [
      ...faultIf(pairs.length > 0, path, `${kind} takes a data_type and no values for false and true`),
      ...faultIf(!typed, `${path}.data_type`, `must be one of ${idTypes.join(', ')}`),
    ];
  }
  const one = 'int32_false_true, fp32_false_true, bool_false_true';
  return [
    ...faultIf(pairs.length !== 1, path, `${kind} takes exactly one of ${one}`),
    ...faultIf(
      pairs.some((pair) => pair?.length !== 2),
      path,
      'needs two values: for false and for true',
    ),
  ];
}
