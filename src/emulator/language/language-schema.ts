import { z } from 'zod';
import { engineSettings } from './engine-settings.ts';

const positive = z.number().positive();
const atLeastZero = z.number().min(0);

/** A language model of a profile: its engine works in steps, by continuous batching. */
export const languageSchema = z.strictObject({
  /** The time of a step; `src/queueing/continuous/step-law.ts` has the formula. */
  step: z.strictObject({
    base_ms: atLeastZero.default(0),
    /** Time to read the weights. */
    floor_ms: atLeastZero,
    /** Additional fixed time of a step with tokens of prompts. */
    prefill_base_ms: atLeastZero.default(0),
    per_prefill_token_us: positive,
    per_sequence_us: atLeastZero,
    per_context_token_ns: atLeastZero.default(0),
    per_prefill_pair_ns: atLeastZero.default(0),
    /** Coefficient of variation of a step's time. */
    cv: z.number().min(0).max(1).default(0),
  }),
  memory: z.strictObject({
    /** Weights and activations. */
    model_mib: positive,
    kv_bytes_per_token: positive,
  }),
  /** Length of an unlimited answer: log-normal. */
  answer_tokens: z.strictObject({ mean: positive, std: atLeastZero }).default({ mean: 200, std: 150 }),
  /** Start options of the engine. */
  engine: engineSettings.prefault({}),
});

export type LanguageProfile = z.infer<typeof languageSchema>;
