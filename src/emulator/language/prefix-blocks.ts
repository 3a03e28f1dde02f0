import { createHash } from 'node:crypto';

/** vLLM's usual block. */
const BLOCK_TOKENS = 16;

/**
 * Knows which beginnings of prompts an engine has computed before, in whole blocks, as vLLM's automatic prefix caching does: a block is
 * known by its tokens and by all before it. The longest unused goes first when there are more than the cache has place for.
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
    for (const block of chainOf(tokens)) {
      if (!this.#use(block)) break;
      blocks++;
    }
    return blocks * BLOCK_TOKENS;
  }

  add(tokens: readonly string[]): void {
    for (const block of chainOf(tokens)) if (!this.#use(block)) this.#blocks.add(block);
    for (const block of this.#blocks) {
      if (this.#blocks.size <= this.#most) return;
      this.#blocks.delete(block);
    }
  }

  /** False for a block that is not known. */
  #use(block: string): boolean {
    if (!this.#blocks.delete(block)) return false;
    this.#blocks.add(block);
    return true;
  }
}

function* chainOf(tokens: readonly string[]): Generator<string> {
  let before = '';
  for (let end = BLOCK_TOKENS; end <= tokens.length; end += BLOCK_TOKENS) {
    const block = tokens.slice(end - BLOCK_TOKENS, end).join('\u0000');
    before = createHash('sha1').update(before).update(block).digest('base64');
    yield before;
  }
}
