import { TrituneError } from '#base/errors.ts';
import type { RequestLimits } from '#queueing/continuous/request-limits.ts';

const names = { ttftNs: 'ttft', itlNs: 'itl', tpotNs: 'tpot' } as const;

/**
 * Errors: USAGE for limits on tokens, because a model with tensor inputs has none. `whose`: the
 * subject in the message.
 */
export function checkEndOnly(limits: RequestLimits | undefined, whose: string): void {
  const other = (Object.keys(names) as (keyof typeof names)[]).find((key) => limits?.[key] !== undefined);
  if (other === undefined) return;
  throw new TrituneError(
    'USAGE',
    `${whose} limits ${names[other]}, which tensor requests do not have`,
    "limit the whole request, for example 'e2e<=50ms', or add --endpoint for a language model",
  );
}
