import { z } from 'zod';
import type { TextCall } from '../wire/infer-call.ts';
import { OpenAiFailure } from './openai-failure.ts';

/** A client's request to an OpenAI endpoint. */
export interface OpenAiRequest extends TextCall {
  /** undefined: the only model. */
  readonly model: string | undefined;
  readonly includesUsage: boolean;
}

const count = z.int().min(1).nullish();

const common = {
  model: z.string().nullish(),
  max_tokens: count,
  min_tokens: z.int().min(0).nullish(),
  ignore_eos: z.boolean().nullish(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  n: z.literal(1, { error: 'only one answer is given to a request' }).nullish(),
};

const part = z.looseObject({ type: z.literal('text', { error: 'only texts are understood' }), text: z.string() });
const chat = z.looseObject({
  ...common,
  max_completion_tokens: count,
  messages: z
    .array(z.looseObject({ role: z.string(), content: z.union([z.string(), z.array(part)]).nullish() }))
    .min(1),
});

const completion = z.looseObject({
  ...common,
  prompt: z.union([z.string(), z.array(z.int().min(0)), z.tuple([z.string()]), z.tuple([z.array(z.int().min(0))])]),
});

/** The default of vLLM and OpenAI for completions. */
const USUAL_COMPLETION_TOKENS = 16;

/** Reads a body of `/v1/chat/completions`. Throws an OpenAiFailure. */
export function readChat(body: Buffer): OpenAiRequest {
  const fields = checked(chat, body);
  const texts = fields.messages.map(({ content }) =>
    Array.isArray(content) ? content.map(({ text }) => text).join('') : (content ?? ''),
  );
  return { texts, ...toWish(fields), maxTokens: fields.max_completion_tokens ?? fields.max_tokens ?? null };
}

/** Reads a body of `/v1/completions`. Throws an OpenAiFailure. */
export function readCompletion(body: Buffer): OpenAiRequest {
  const fields = checked(completion, body);
  const prompt = fields.prompt;
  const texts =
    typeof prompt === 'string'
      ? [prompt]
      : prompt.flat().map((each) => (typeof each === 'string' ? each : tokenWord(each)));
  return { texts, ...toWish(fields), maxTokens: fields.max_tokens ?? USUAL_COMPLETION_TOKENS };
}

const texts = z.union([z.string(), z.array(z.string()).min(1)]);
const textModel = z.string().nullish();
const ofTexts = {
  embeddings: z.looseObject({ model: textModel, input: texts }),
  classify: z.looseObject({ model: textModel, input: texts }),
  rerank: z.looseObject({ model: textModel, query: z.string(), documents: z.array(z.string()).min(1) }),
};

/** The APIs that answer texts at once. */
export type TextsKind = keyof typeof ofTexts;

/** A client's request with texts; those of a reranking are each a document with the query. */
export interface TextsRequest {
  readonly model: string | undefined;
  readonly texts: readonly string[];
}

/** Reads a body of one of the APIs that answer texts at once. Throws an OpenAiFailure. */
export function readTexts(kind: TextsKind, body: Buffer): TextsRequest {
  const { model, ...fields } = checked(ofTexts[kind] as z.ZodType<z.infer<(typeof ofTexts)[TextsKind]>>, body);
  const input = 'input' in fields ? [fields.input as string | string[]].flat() : [];
  const documents =
    'documents' in fields ? (fields.documents as string[]).map((each) => `${fields.query} ${each}`) : input;
  return { model: model ?? undefined, texts: documents };
}

/** A prompt may be a list of token numbers: one word represents each. */
const tokenWord = (id: number): string => String(id).replace(/\d/g, (digit) => 'abcdefghij'[Number(digit)] as string);

function toWish(fields: z.infer<typeof chat> | z.infer<typeof completion>): Omit<OpenAiRequest, 'texts' | 'maxTokens'> {
  const { stop, model, stream_options: options } = fields;
  return {
    model: model ?? undefined,
    minTokens: fields.min_tokens ?? 0,
    ignoresEnd: fields.ignore_eos === true,
    stops: (typeof stop === 'string' ? [stop] : (stop ?? [])).filter((text) => text !== ''),
    isStream: fields.stream === true,
    includesUsage: options?.include_usage === true,
  };
}

function checked<T>(schema: z.ZodType<T>, body: Buffer): T {
  let json: unknown;
  try {
    json = JSON.parse(body.toString('utf8'));
  } catch {
    throw new OpenAiFailure(400, 'BadRequestError', 'the body is not JSON');
  }
  const result = schema.safeParse(json);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const param = issue?.path.join('.') || null;
  throw new OpenAiFailure(400, 'BadRequestError', `${param ?? 'the body'}: ${issue?.message ?? 'is wrong'}`, param);
}
