import { formatFigure } from '#base/format.ts';
import type { Json } from '#base/json.ts';
import { listTexts } from '#loadgen/prompts/prompt.ts';
import type { HttpSpec } from '#spec/http-spec.ts';
import type { TextEndpoint } from '#spec/language-spec.ts';
import type { HeaderSpec } from '#spec/server-spec.ts';
import type { PromptSpec } from '#workload/prompt-spec.ts';
import { type PlainContent, plainContent } from './http-content.ts';
import { type PromptOrder, preparePrompts } from './prompts.ts';

/**
 * An API that takes texts: its path, the texts of a request beside those that count, and the fields
 * of the body.
 */
interface TextApi {
  readonly path: string;
  /** Texts in front of those that are inferences, such as the query of a reranking. */
  readonly before: number;
  toFields(texts: readonly string[]): Readonly<Record<string, Json>>;
}

/**
 * Embeddings as in OpenAI's API; reranking as in Jina's and Cohere's, which vLLM and SGLang serve
 * at this path; classification as vLLM and Dynamo serve it.
 */
const textApis: Readonly<Record<TextEndpoint, TextApi>> = {
  embeddings: { path: '/v1/embeddings', before: 0, toFields: (input) => ({ input }) },
  rerank: { path: '/v1/rerank', before: 1, toFields: ([query = '', ...documents]) => ({ query, documents }) },
  classify: { path: '/v1/classify', before: 0, toFields: (input) => ({ input }) },
};

/** What is sent to an API that takes texts: the texts of prompts, `batch` of them in a request. */
export interface TextSpec extends PromptSpec {
  readonly endpoint: TextEndpoint;
  readonly model?: string | undefined;
  readonly batch?: number | undefined;
  readonly seed: number;
  readonly extraInputs?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Distinct requests, unless the options give a number of prompts: as many as a language model gets
 * by default.
 */
const USUAL_REQUESTS = 1000;

/** Returns the requests. Errors: USAGE, INPUT_INVALID as `preparePrompts` and `plainContent`. */
export async function textContent(
  options: TextSpec & HttpSpec & HeaderSpec,
  credentials: string | undefined,
): Promise<PlainContent> {
  const { endpoint, model, batch = 1, seed, prompts = USUAL_REQUESTS, extraInputs } = options;
  const api = textApis[endpoint];
  const texts = await readTexts({ ...options, prompts }, { model: model ?? '', seed });
  const size = api.before + batch;
  const bodies = Array.from({ length: Math.max(1, Math.ceil(texts.all.length / size)) }, (_, index) => {
    const ownTexts = Array.from(
      { length: size },
      (__, place) => texts.all[(index * size + place) % texts.all.length] as string,
    );
    return Buffer.from(
      JSON.stringify({ ...(model !== undefined && { model }), ...api.toFields(ownTexts), ...extraInputs }),
    );
  });
  const plain = await plainContent({ ...options, body: String(bodies[0]) }, credentials);
  return { ...plain, bodies, path: options.path ?? api.path, batch, refusalsFail: true, notes: texts.notes };
}

async function readTexts(spec: PromptOrder, setting: { readonly model: string; readonly seed: number }) {
  const { requests, countedBy } = await preparePrompts(spec, setting);
  const prompts = requests.requests.flatMap(({ prompt }) => prompt ?? []);
  const tokens = prompts.reduce((sum, { inputTokens }) => sum + (inputTokens ?? 0), 0) / prompts.length;
  const counted = countedBy === 'estimate' ? ', counted by an estimate (--tokenizer counts exactly)' : '';
  return {
    all: prompts.map(({ messages }) => listTexts(messages).join('\n')),
    notes: [`${prompts.length} texts of ${formatFigure(tokens)} tokens on average${counted}`],
  };
}
