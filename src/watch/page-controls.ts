import { z } from 'zod';
import type { SteeringCommand } from '#tuner/steering.ts';

/** A person's request to a study on the page. */
export type PageOrder =
  | Exclude<SteeringCommand, { kind: 'narrowing' | 'wish' | 'withdrawal' }>
  | { readonly kind: 'stop-now' };

/** How to steer the studies, and the token that is required for it. */
export interface Controls {
  readonly token: string;
  /** Errors: INPUT_INVALID if there is no such running study, SERVER_*. */
  order(study: string, order: PageOrder): Promise<void>;
}

const orders = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.enum(['pause', 'resume', 'stop-search', 'stop-now']) }),
  z.strictObject({ kind: z.literal('budget'), latencyMs: z.number().positive().finite() }),
]);

/** Returns the order in a request's body; null if there is none. */
export function orderIn(body: string): PageOrder | null {
  try {
    return orders.parse(JSON.parse(body));
  } catch {
    return null;
  }
}
