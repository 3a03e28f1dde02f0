import { z } from 'zod';
import { distributionSpec } from '#base/distribution-spec.ts';
import type { ReadOnly } from '#base/read-only.ts';

const positiveWhole = z.int().positive();

/** The prompts of a language model: generated, or from a file. */
export const promptSpec = z.strictObject({
  promptFile: z
    .string()
    .min(1)
    .optional()
    .describe('File with prompts, conversations or a trace; its form is found by its content'),
  inputTokens: distributionSpec.optional().describe('Tokens of a made-up prompt, or turn; 512 if not given'),
  outputTokens: distributionSpec
    .optional()
    .describe('Tokens of a reply, where the file does not say; 128 for made-up prompts if not given'),
  prompts: positiveWhole.optional().describe('Prompts, or conversations, that differ'),
  prefixPrompts: positiveWhole.optional().describe('Prefixes that made-up prompts share; 1 with prefixTokens'),
  prefixTokens: positiveWhole.optional().describe('Tokens of each prefix, beside inputTokens'),
  sessions: z.boolean().optional().describe("Conversations are held turn by turn, with the model's own answers"),
  turns: distributionSpec.optional().describe('Turns of a made-up conversation'),
  thinkTimeMs: distributionSpec.optional().describe('Milliseconds that a user takes before each turn but the first'),
  traceSlice: z
    .strictObject({
      fromS: z.number().nonnegative().describe('Its start, in seconds'),
      toS: z.number().positive().describe('Its end, in seconds'),
    })
    .refine(({ fromS, toS }) => fromS < toS, 'a slice must not end before it begins')
    .optional()
    .describe('Part of a trace, in seconds since its first request'),
  ignoreEos: z
    .boolean()
    .optional()
    .describe('Replies go on to their full length; if not given, those to made-up prompts and to traces do'),
  tokenizer: z
    .string()
    .min(1)
    .optional()
    .describe("The model's tokenizer.json, or its folder, for exact lengths; an estimate if not given"),
});

export type PromptSpec = ReadOnly<z.infer<typeof promptSpec>>;
