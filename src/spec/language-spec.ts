import { z } from 'zod';
import type { ReadOnly } from '#base/read-only.ts';

const text = z.string().min(1);
const limitNs = z.number().positive().optional();

/** APIs of models that take texts and answer each request at once, with one HTTP reply. */
export const textEndpoints = ['embeddings', 'rerank', 'classify'] as const;

export type TextEndpoint = (typeof textEndpoints)[number];

/** True for the name of such an API. */
export const isTextEndpoint = (endpoint: string | undefined): endpoint is TextEndpoint =>
  (textEndpoints as readonly (string | undefined)[]).includes(endpoint);

/** The values of `--endpoint`; `openai` and `auto` detect the rest. */
export const languageEndpoints = [
  ...(['auto', 'openai', 'openai-chat', 'openai-completions', 'openai-responses', 'anthropic-messages'] as const),
  ...(['triton-generate', 'triton-grpc'] as const),
  ...textEndpoints,
] as const;

/** The serving and the requests of a language model. */
export const languageServerSpec = z.strictObject({
  endpoint: z
    .enum(languageEndpoints)
    .optional()
    .describe('API of a model that takes texts; leave it out for other models'),
  launchCommand: text
    .optional()
    .describe(
      'Command that starts the server of each candidate, with {port} and with {flags} or a {NAME} of each setting',
    ),
  original: z
    .record(text, z.union([z.boolean(), z.number(), z.string()]))
    .optional()
    .describe('Settings before the study of what the launch command starts, beside those in its flags'),
  engineSettings: text
    .optional()
    .describe(
      "For Triton's vLLM backend and others like it: the model's own model.json, which cannot be read from the server",
    ),
});

/** The limits of a good request. */
export const goodputSpec = z.strictObject({
  ttftNs: limitNs.describe('Time to first token, in nanoseconds'),
  itlNs: limitNs.describe('Each time between two tokens, in nanoseconds'),
  tpotNs: limitNs.describe('Time per output token, in nanoseconds'),
  e2eNs: limitNs.describe('Time to the end of the reply, in nanoseconds; at a request rate from the time due'),
});

export type LanguageServerSpec = ReadOnly<z.infer<typeof languageServerSpec>>;
export type GoodputSpec = ReadOnly<z.infer<typeof goodputSpec>>;
