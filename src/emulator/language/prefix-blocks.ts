import { createHash } from 'node:crypto';

/** vLLM's usual block. */
const BLOCK_TOKENS = 16;

/**
 * Knows the prompt prefixes that an engine has already computed, in whole blocks, like vLLM's
 * automatic prefix caching: a block is identified by its tokens and all before it. If the cache is
 * full, the least recently used block goes first.
 */
export class PrefixBlocks {
  readonly #most: number;
  /** The least recently used first. */
  readonly #blocks = new Set<string>();

  /** `capacity` in tokens; null for no limit. */
  constructor(capacity: number | null) {
    this.#most = capacity === null ? Number.POSITIVE_INFINITY : Math.floor(capacity / BLOCK_TOKENS);
  }

  /** Returns how many tokens at the beginning are known. */
  known(tokens: readonly string[]): number {
    let blocks = 0;
    for (const block of chainBlocks(tokens)) {
      if (!this.#use(block)) break;
      blocks++;
    }
    return blocks * BLOCK_TOKENS;
  }

  add(tokens: readonly string[]): void {
    for (const block of chainBlocks(tokens)) if (!this.#use(block)) this.#blocks.add(block);
    for (const block of this.#blocks) {
      if (this.#blocks.size <= this.#most) return;
      this.#blocks.delete(block);
    }
  }

  /** False for an unknown block. */
  #use(block: string): boolean {
    if (!this.#blocks.delete(block)) return false;
    this.#blocks.add(block);
    return true;
  }
}

function* chainBlocks(tokens: readonly string[]): Generator<string> {
  let before = '';
  for (let end = BLOCK_TOKENS; end <= tokens.length; end += BLOCK_TOKENS) {
    const block = tokens.slice(end - BLOCK_TOKENS, end).join('\u0000');
    before = createHash('sha1').update(before).update(block).digest('base64');
    yield before;
  }
}
