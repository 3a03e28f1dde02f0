import { z } from 'zod';

/** The form of a language model's engine in a search-space file (docs/language-models.md). */

const path = z.string().regex(/^\/[\w/.-]*$/, 'a path such as /health');

export const engineFile = z.strictObject({
  name: z.string().min(1).max(100).describe('the engine, such as vllm'),
  version: z.string().max(100).optional().describe('the release whose flags and defaults these are'),
  words: z.enum(['hyphens', 'underscores']).default('hyphens').describe("separator between the words of a flag's name"),
  off: z
    .enum(['no', 'nothing'])
    .default('no')
    .describe('how the command line turns a switch off: --no-NAME, or nothing'),
  health: path
    .nullable()
    .default('/health')
    .describe('answers with 200 when the server serves; null: any HTTP answer shows that it does'),
  metrics: path.nullable().default('/metrics').describe('the Prometheus page; null for a server without one'),
  defaults: z
    .record(z.string(), z.union([z.boolean(), z.number(), z.string()]))
    .default({})
    .describe('its defaults, for rules and for the law'),
  varying: z
    .array(z.string())
    .default([])
    .describe(
      'defaults that depend on the machine, the model or the release: a candidate that sets one differs from the original',
    ),
});

const field = z.union([z.boolean(), z.number(), z.string().min(1).max(500), z.null()]);

export const lawFile = z
  .strictObject({
    maxSequences: field.optional().describe('sequences that run at once, at most'),
    maxStepTokens: field.optional().describe('tokens of one step, at most'),
    chunksPrefill: field.optional().describe('whether a prompt may be spread over several steps'),
    mixesPrefill: field
      .optional()
      .describe('whether a step holds whole prompts beside sequences that decode, without chunks; true if absent'),
    kvCacheTokens: field.optional().describe('tokens that the KV cache holds'),
    cachesPrefixes: field.optional().describe('whether prompts that begin alike share work'),
    gpus: field.optional().describe('GPUs that the engine spreads itself over'),
  })
  .meta({ id: 'law', description: 'how settings determine the steps of the engine: expressions, as in rules' });

/**
 * A service about which no file says anything: its settings are flags with hyphens, and any answer
 * shows that it serves.
 */
export const plainService = (): EngineFile => engineFile.parse({ name: 'service', health: null, metrics: null });

export type EngineFile = z.infer<typeof engineFile>;
export type LawFile = z.infer<typeof lawFile>;
