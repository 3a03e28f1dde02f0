import type { SharedPrefix } from './sequence.ts';

interface CachedPrefix {
  tokens: number;
  users: number;
}

/**
 * Counts the content of an engine's KV cache, in tokens; it does not round to blocks. An unused
 * prefix stays until its place is needed: the one unused for longest goes first.
 */
export class KvCache {
  readonly #capacity: number;
  #used = 0;
  #idle = 0;
  /** The least recently used first. */
  readonly #prefixes = new Map<SharedPrefix['id'], CachedPrefix>();

  /** `capacity` in tokens; null for no limit. */
  constructor(capacity: number | null) {
    this.#capacity = capacity ?? Number.POSITIVE_INFINITY;
  }

  /** Tokens in use; unused prefixes do not count. */
  get used(): number {
    return this.#used;
  }

  /** Tokens that can be taken. */
  get free(): number {
    return this.#capacity - this.#used;
  }

  /** Share in use, 0 to 1; 0 without a limit. */
  get usedShare(): number {
    return this.#used / this.#capacity;
  }

  take(tokens: number): void {
    this.#used += tokens;
    if (this.#used + this.#idle > this.#capacity) this.#evict();
  }

  give(tokens: number): void {
    this.#used -= tokens;
  }

  /** Returns the number of cached tokens of the prefix. */
  cached({ id, tokens }: SharedPrefix): number {
    return Math.min(tokens, this.#prefixes.get(id)?.tokens ?? 0);
  }

  /** Returns the tokens that `hold` would bring back into use. */
  countIdle({ id }: SharedPrefix): number {
    const prefix = this.#prefixes.get(id);
    return prefix?.users === 0 ? prefix.tokens : 0;
  }

  /** Adds a user to a cached prefix. */
  hold({ id }: SharedPrefix): void {
    const prefix = this.#prefixes.get(id);
    if (!prefix) return;
    if (prefix.users++ > 0) return;
    this.#idle -= prefix.tokens;
    this.take(prefix.tokens);
  }

  /**
   * Shares a prefix that a user has computed. The user has taken place for all of it except the
   * `held` tokens from the cache.
   */
  share({ id, tokens }: SharedPrefix, held: number): void {
    const prefix = this.#prefixes.get(id);
    if (!prefix) {
      this.#prefixes.set(id, { tokens, users: 1 });
      return;
    }
    if (held === 0) this.hold({ id, tokens });
    this.give(Math.max(0, Math.min(prefix.tokens, tokens) - held));
    prefix.tokens = Math.max(prefix.tokens, tokens);
  }

  /** Removes a user from a prefix. */
  release({ id }: SharedPrefix): void {
    const prefix = this.#prefixes.get(id);
    if (!prefix || --prefix.users > 0) return;
    this.#prefixes.delete(id);
    this.#prefixes.set(id, prefix);
    this.give(prefix.tokens);
    this.#idle += prefix.tokens;
  }

  #evict(): void {
    for (const [id, { tokens, users }] of this.#prefixes) {
      if (this.#used + this.#idle <= this.#capacity) return;
      if (users > 0) continue;
      this.#prefixes.delete(id);
      this.#idle -= tokens;
    }
  }
}
