import { createHash, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { SteeringCommand } from '../../tuner/steering.ts';

/** What a person may ask of a study on the page. */
export type Order =
  | Exclude<SteeringCommand, { kind: 'narrowing' | 'wish' | 'withdrawal' }>
  | { readonly kind: 'stop-now' };

/** How the studies are steered, and the token that whoever does so must show. */
export interface Controls {
  readonly token: string;
  /** Errors: INPUT_INVALID where there is no such study under way, SERVER_*. */
  order(study: string, order: Order): Promise<void>;
}

const orders = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.enum(['pause', 'resume', 'stop-search', 'stop-now']) }),
  z.strictObject({ kind: z.literal('budget'), latencyMs: z.number().positive().finite() }),
]);

/** Returns the order that a request's body is; null for none. */
export function orderIn(body: string): Order | null {
  try {
    return orders.parse(JSON.parse(body));
  } catch {
    return null;
  }
}

/** Tells whether the Authorization header has the token. Takes as long for a wrong one as for the right one. */
export function isAuthorized(header: string | undefined, token: string): boolean {
  const [scheme, shown = ''] = (header ?? '').split(' ');
  return timingSafeEqual(hashOf(shown), hashOf(token)) && scheme === 'Bearer';
}

/** Hashes are of one length, so that a comparison says nothing about the token's. */
const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest();
