import type { Json } from '../../../base/json.ts';
import type { TextEndpoint } from '../../../spec/language-spec.ts';

/** An API that takes texts: its path, the texts of a request beside those that count, and the fields of the body. */
export interface TextApi {
  readonly path: string;
  /** Texts in front of those that are inferences, such as the query of a reranking. */
  readonly before: number;
  fieldsOf(texts: readonly string[]): Readonly<Record<string, Json>>;
}

/**
 * Embeddings as in OpenAI's API; reranking as in Jina's and Cohere's, which vLLM and SGLang serve at this path; classification as vLLM and Dynamo
 * serve it.
 */
export const textApis: Readonly<Record<TextEndpoint, TextApi>> = {
  embeddings: { path: '/v1/embeddings', before: 0, fieldsOf: (input) => ({ input }) },
  rerank: { path: '/v1/rerank', before: 1, fieldsOf: ([query = '', ...documents]) => ({ query, documents }) },
  classify: { path: '/v1/classify', before: 0, fieldsOf: (input) => ({ input }) },
};
