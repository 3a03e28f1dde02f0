import type { HttpSpec } from '#spec/http-spec.ts';
import { isTextEndpoint } from '#spec/language-spec.ts';
import type { HeaderSpec } from '#spec/server-spec.ts';
import { type PlainContent, plainContent } from './http-content.ts';
import { type TextSpec, textContent } from './text-content.ts';

/** The options of every kind of content. */
export type ContentSpec = HttpSpec &
  HeaderSpec &
  Omit<TextSpec, 'endpoint'> & { readonly endpoint?: string; readonly basicAuth?: string };

/**
 * Returns what an HTTP service is sent: what the options say, or what their API takes. Errors: as
 * `plainContent` and `textContent`.
 */
export function readContent(options: ContentSpec, credentials: string | undefined): Promise<PlainContent> {
  const { endpoint } = options;
  return isTextEndpoint(endpoint)
    ? textContent({ ...options, endpoint }, credentials)
    : plainContent(options, credentials);
}
