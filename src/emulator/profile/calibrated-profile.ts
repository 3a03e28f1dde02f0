import { Document, isPair, isScalar, visit } from 'yaml';
import { NS_PER_US, nsToMs } from '#base/units.ts';
import type { CalibratedServer } from '#queueing/calibration/model.ts';
import type { TokenSeries } from '#queueing/calibration/token-series.ts';
import type { ContinuousPolicy } from '#queueing/continuous/policy.ts';
import type { StepLaw } from '#queueing/continuous/step-law.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { parseProfile } from './profiles.ts';

/** A model for a new profile: its config, and the server that was fitted to its results. */
export interface CalibratedModel {
  readonly config: ModelConfig;
  readonly server: CalibratedServer;
}

/** A language model for a new profile: the law and policy of its engine, fitted to a series. */
export interface CalibratedEngine {
  readonly name: string;
  readonly law: StepLaw;
  readonly roundTripNs: number;
  readonly policy: ContinuousPolicy;
  readonly series: TokenSeries;
}

export interface CalibratedHead {
  readonly name: string;
  readonly description: string;
  readonly source: string;
  readonly gpu: string;
}

/** Values that a result table lacks; they are the same in every profile that is made from one. */
const NOT_IN_A_TABLE = {
  device: { memory_mib: 16384, power_w: { idle: 25, busy: 250 } },
  memory: { model_mib: 500, instance_mib: 700, sample_mib: 0.5 },
  load: { full_s: 1, add_s: 0.3, remove_s: 0.1 },
} as const;

const HEAD_LINES =
  '# Written by `tritune calibrate`. Memory, power and load times are not in a table of results: they are made up.\n';
const SIGNIFICANT_DIGITS = 4;
const LINE_WIDTH = 120;

/**
 * Returns the YAML of an emulator profile with these models. Throws PROFILE_INVALID if no emulator
 * could run it.
 */
export function calibratedProfile(
  head: CalibratedHead,
  models: readonly (CalibratedModel | CalibratedEngine)[],
): string {
  const { name, description, source, gpu } = head;
  const profile = {
    name,
    description,
    source,
    device: { kind: 'gpu', name: `${gpu} (emulated)`, ...NOT_IN_A_TABLE.device },
    models: models.map((model) => ('series' in model ? toLanguageModel(model) : toModel(model))),
  };
  const document = new Document(profile, { aliasDuplicateObjects: false });
  visit(document, {
    Seq: (_, list) => {
      list.flow = list.items.every(isScalar);
    },
    Map: (_, fields) => {
      fields.flow = fields.items.every((field) => isPair(field) && isScalar(field.value));
    },
  });
  const text = HEAD_LINES + document.toString({ lineWidth: LINE_WIDTH });
  parseProfile(text, `${name}.yaml`);
  return text;
}

function toModel({ config, server }: CalibratedModel): object {
  const { law, roundTripNs, jitterNs, policy } = server;
  const { perInstance, batchExponent } = law.interference;
  const isShared = law.atOnce !== undefined && law.atOnce < policy.instances;
  return {
    config,
    law: {
      execution_ms: law.points.map(({ batchSize, executionNs }) => [batchSize, rounded(nsToMs(executionNs))]),
      interference: { per_instance: rounded(perInstance), batch_exponent: batchExponent },
      ...(isShared ? { at_once: law.atOnce } : {}),
      cv: law.cv,
      split: { input: rounded(law.split.input), output: rounded(law.split.output) },
    },
    memory: NOT_IN_A_TABLE.memory,
    load: NOT_IN_A_TABLE.load,
    network_ms: rounded(nsToMs(roundTripNs + jitterNs)),
  };
}

/** vLLM's default, in which `num_gpu_blocks_override` counts. */
const KV_BLOCK_TOKENS = 16;
function toLanguageModel({ name, law, roundTripNs, policy, series }: CalibratedEngine): object {
  const { inputTokens, outputTokens, rows } = series;
  const longest = inputTokens + outputTokens;
  const atOnce = Math.max(...rows.map(({ concurrency }) => concurrency));
  const kvTokens = policy.kvCacheTokens ?? 2 * atOnce * longest;
  const tensor = (tensorName: string, type: string, isOptional: boolean) => ({
    name: tensorName,
    data_type: `TYPE_${type}`,
    dims: [1],
    ...(isOptional && { optional: true }),
  });
  return {
    config: {
      name,
      backend: 'vllm',
      max_batch_size: 0,
      model_transaction_policy: { decoupled: true },
      input: [
        tensor('text_input', 'STRING', false),
        tensor('stream', 'BOOL', true),
        tensor('sampling_parameters', 'STRING', true),
        tensor('exclude_input_in_output', 'BOOL', true),
      ],
      output: [{ name: 'text_output', data_type: 'TYPE_STRING', dims: [-1] }],
      instance_group: [{ count: 1, kind: 'KIND_MODEL' }],
    },
    language: {
      step: {
        base_ms: rounded(nsToMs(law.baseNs)),
        floor_ms: rounded(nsToMs(law.floorNs)),
        prefill_base_ms: rounded(nsToMs(law.prefillBaseNs)),
        per_prefill_token_us: rounded(law.perPrefillTokenNs / NS_PER_US),
        per_sequence_us: rounded(law.perDecodingNs / NS_PER_US),
        per_context_token_ns: rounded(law.perContextTokenNs),
        per_prefill_pair_ns: rounded(law.perPrefillPairNs),
        cv: rounded(law.cv),
      },
      // The number of blocks below replaces what is computed from these.
      memory: { model_mib: NOT_IN_A_TABLE.memory.model_mib, kv_bytes_per_token: 1 },
      answer_tokens: { mean: outputTokens, std: 0 },
      engine: {
        max_num_seqs: policy.maxSequences,
        max_num_batched_tokens: policy.maxStepTokens ?? longest,
        enable_chunked_prefill: policy.chunksPrefill,
        enable_prefix_caching: policy.cachesPrefixes,
        num_gpu_blocks_override: Math.ceil(kvTokens / KV_BLOCK_TOKENS),
        max_model_len: longest,
      },
    },
    load: NOT_IN_A_TABLE.load,
    network_ms: rounded(nsToMs(roundTripNs)),
  };
}

const rounded = (value: number): number => Number(value.toPrecision(SIGNIFICANT_DIGITS));
