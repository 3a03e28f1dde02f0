import { isTextEndpoint } from './language-spec.ts';
import type { StudySpec } from './study-spec.ts';

/**
 * The kinds of requests that a study sends: inference requests with tensors, prompts to a language
 * model, or those of a plain HTTP service.
 */
export type RequestKindName = 'tensors' | 'prompts' | 'http';

/** Returns the kind of requests of a study. */
export function toRequestKind({ http, server }: Pick<StudySpec, 'http' | 'server'>): RequestKindName {
  if (http || isTextEndpoint(server.endpoint)) return 'http';
  return server.endpoint === undefined && server.launchCommand === undefined ? 'tensors' : 'prompts';
}
