import { TrituneError } from '#base/errors.ts';
import { buildCandidate } from './candidate.ts';
import { assignments } from './enumerate.ts';
import { VARIANT } from './source/variants.ts';
import type { Candidate, SearchSpace } from './types.ts';

/**
 * Errors: SPACE_INVALID for a variant without a legal candidate on this base config: it would never
 * be tried.
 */
export function checkVariants(space: SearchSpace, base: Candidate): void {
  const variants = space.parameters.find(({ name }) => name === VARIANT)?.cases[0]?.options ?? [];
  for (const { value } of variants) {
    const generator = assignments(space, base, { [VARIANT]: { pinned: value } });
    if (generator.next().done !== true) continue;
    const alone = buildCandidate(space, base, { [VARIANT]: value });
    const reason = alone.legal ? 'the rules of the space forbid it with every other value' : alone.reason;
    throw new TrituneError('SPACE_INVALID', `variant '${String(value)}' has no valid candidate: ${reason}`, HINT);
  }
}

const HINT = 'check its config and the rules of the search space (docs/variants.md), or remove the variant';
