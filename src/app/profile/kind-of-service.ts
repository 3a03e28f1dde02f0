import { TrituneError } from '#base/errors.ts';
import { isTextEndpoint } from '#spec/language-spec.ts';
import type { ServiceKind } from './service.ts';

/**
 * Returns the kind of service in the options; an endpoint means a language model. Errors:
 * UNSUPPORTED for another kind.
 */
export function toServiceKind({
  serviceKind,
  endpoint,
}: {
  readonly serviceKind: string;
  readonly endpoint?: string | undefined;
}): ServiceKind {
  if (isTextEndpoint(endpoint)) return 'http';
  if (serviceKind === 'openai' || (endpoint !== undefined && serviceKind === 'triton')) return 'language';
  if (serviceKind === 'triton' || serviceKind === 'http') return serviceKind;
  throw new TrituneError(
    'UNSUPPORTED',
    `there is no service kind '${serviceKind}'`,
    'use --service-kind triton, with --launch local to start a server; openai for a language model; or http for any URL',
  );
}
