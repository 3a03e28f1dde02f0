import { z } from 'zod';
import { engineSettings } from './engine-settings.ts';

const positive = z.number().positive();
const atLeastZero = z.number().min(0);

const step = z
  .strictObject({
    base_ms: atLeastZero.default(0).describe('Fixed time of every step'),
    floor_ms: atLeastZero.describe('Time to read the weights: least time of the work on tokens'),
    prefill_base_ms: atLeastZero.default(0).describe('Additional fixed time of a step with tokens of prompts'),
    per_prefill_token_us: positive.describe('Time for each token of a prompt'),
    per_sequence_us: atLeastZero.describe('Time for each sequence that decodes'),
    per_context_token_ns: atLeastZero.default(0).describe('Time for each token that decoding sequences attend to'),
    per_prefill_pair_ns: atLeastZero.default(0).describe('Time for each pair of tokens within a prompt'),
    cv: z.number().min(0).max(1).default(0).describe("Coefficient of variation of a step's time"),
  })
  .meta({
    id: 'step',
    // The formula of `src/queueing/continuous/step-law.ts`.
    description:
      'Time of a step: base_ms + max(floor_ms, prompt tokens × per_prefill_token_us + decoding sequences × per_sequence_us) ' +
      '+ context tokens × per_context_token_ns + pairs × per_prefill_pair_ns, and prefill_base_ms in a step with tokens of prompts',
  });

/** A language model of a profile: its engine works in steps, by continuous batching. */
export const languageSchema = z
  .strictObject({
    step: step.describe('Law of the time of a step'),
    memory: z
      .strictObject({
        model_mib: positive.describe('Weights and activations'),
        kv_bytes_per_token: positive.describe(
          'Bytes of a token in the KV cache, which gets the rest of gpu_memory_utilization',
        ),
      })
      .describe('Memory of the engine'),
    answer_tokens: z
      .strictObject({ mean: positive.describe('Mean'), std: atLeastZero.describe('Standard deviation') })
      .default({ mean: 200, std: 150 })
      .describe('Length of a reply without a limit, in tokens: log-normal'),
    engine: engineSettings.prefault({}).describe("Settings at the start, in vLLM's names"),
  })
  .meta({ id: 'language', description: 'A language model: an engine with continuous batching' });

export type LanguageProfile = z.infer<typeof languageSchema>;
