import { seededRandom } from '#base/random.ts';
import { createSpread } from './service-law.ts';

/**
 * The number of factors of a sequence that are kept; a simulation that needs more draws the rest
 * itself.
 */
const MAX_KEPT = 2 ** 14;
/** The number of sequences that are kept: those of the tried spreads, for some seeds. */
const MAX_SEQUENCES = 32;

const sequences = new Map<string, Sequence>();

/**
 * Returns the generator `createSpread(cv, seededRandom(seed))`. Most simulations have the same few
 * seeds and spreads, and share the drawn factors: drawing a factor takes as long as the rest of an
 * execution.
 */
export function sharedSpread(cv: number, seed: number): () => number {
  if (cv === 0) return () => 1;
  const sequence = createSequence(cv, seed);
  let taken = 0;
  let rest: (() => number) | null = null;
  return () => {
    if (taken < MAX_KEPT) return sequence.at(taken++);
    rest ??= after(MAX_KEPT, cv, seed);
    return rest();
  };
}

/** The first factors of a generator, each drawn on demand. */
class Sequence {
  readonly #draw: () => number;
  readonly #drawn: number[] = [];

  constructor(cv: number, seed: number) {
    this.#draw = createSpread(cv, seededRandom(seed));
  }

  /** Returns the factor at an index up to the number of drawn ones. */
  at(index: number): number {
    if (index === this.#drawn.length) this.#drawn.push(this.#draw());
    return this.#drawn[index] as number;
  }
}

function createSequence(cv: number, seed: number): Sequence {
  const key = `${cv} ${seed}`;
  const sequence = sequences.get(key) ?? new Sequence(cv, seed);
  const [oldest = key] = sequences.keys();
  if (sequences.size >= MAX_SEQUENCES && !sequences.has(key)) sequences.delete(oldest);
  sequences.set(key, sequence);
  return sequence;
}

/** Returns the generator without its first factors. */
function after(factors: number, cv: number, seed: number): () => number {
  const draw = createSpread(cv, seededRandom(seed));
  for (let skipped = 0; skipped < factors; skipped++) draw();
  return draw;
}
