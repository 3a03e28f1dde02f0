import { z } from 'zod';
import type { ReadOnly } from '../base/read-only.ts';

const text = z.string().min(1);
const limitNs = z.number().positive().optional();

/** What `--endpoint` takes; `openai` and `auto` find out the rest. */
export const languageEndpoints = [
  ...(['auto', 'openai', 'openai-chat', 'openai-completions'] as const),
  ...(['triton-generate', 'triton-grpc'] as const),
] as const;

/** How a language model is served and asked. */
export const languageServerSpec = z.strictObject({
  endpoint: z.enum(languageEndpoints).optional().describe('The model is a language model, and how it is asked'),
  launchCommand: text
    .optional()
    .describe('Starts a server of the language model, with {port} and {flags}; each candidate is a start of it'),
  engineSettings: text
    .optional()
    .describe(
      "For Triton's vLLM backend and others like it: the model's own model.json, which cannot be read from the server",
    ),
});

/** What a request must keep to be a good one. */
export const goodputSpec = z.strictObject({
  ttftNs: limitNs.describe('Time to first token, in nanoseconds'),
  itlNs: limitNs.describe('Each gap between tokens, in nanoseconds'),
  tpotNs: limitNs.describe('Time per output token, in nanoseconds'),
  e2eNs: limitNs.describe('To the end of the reply, in nanoseconds; at a request rate from the time due'),
});

export type LanguageServerSpec = ReadOnly<z.infer<typeof languageServerSpec>>;
export type GoodputSpec = ReadOnly<z.infer<typeof goodputSpec>>;
