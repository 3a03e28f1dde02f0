import { type Random, seededRandom } from '#base/random.ts';
import { BadRecord } from '#base/records.ts';
import { NS_PER_S } from '#base/units.ts';
import type { PromptSource } from './prompt-source.ts';
import { SyntheticText } from './synthetic-text.ts';
import type { Tokenizer } from './tokenizer.ts';
import type { TraceRow } from './trace-rows.ts';

/** Part of a trace, in seconds since its first request. */
export interface TraceSlice {
  readonly fromS: number;
  readonly toS: number;
}

export interface TraceRule {
  readonly slice: TraceSlice | null;
  /** The maximum number of requests, from the start of the slice. */
  readonly prompts: number | null;
  readonly ignoresEnd: boolean;
  readonly seed: number;
}

/** Tokens per block name in Mooncake traces. */
const BLOCK_TOKENS = 512;
/**
 * Their text is about 200 MB, and is kept three times: as it is, in the sending thread, and in wire
 * form.
 */
const MAX_TOKENS = 32e6;

/** Collects the rows of a trace to send. */
export class TraceRows {
  readonly #rule: TraceRule;
  readonly #rows: TraceRow[] = [];
  #firstNs: number | null = null;
  #read = 0;
  #tokens = 0;
  #empty = 0;

  constructor(rule: TraceRule) {
    this.#rule = rule;
  }

  /** Takes a row, or null for a line without a request. Throws BadRecord. */
  add(row: TraceRow | null): void {
    if (row === null || row.inputTokens === 0) {
      this.#empty++;
      return;
    }
    this.#read++;
    this.#firstNs ??= row.arrivalNs;
    if (!this.#isInSlice(row) || this.#rows.length === this.#rule.prompts) return;
    this.#tokens += row.inputTokens;
    if (this.#tokens > MAX_TOKENS) {
      const hint = 'use a part of the trace: --trace-slice FROM:TO in seconds, or --prompts N';
      throw new BadRecord(`the requests up to here have more than ${MAX_TOKENS / 1e6} million input tokens`, hint);
    }
    this.#rows.push(row);
  }

  /** Returns the rows as prompts of random words, with equal text for equal blocks. */
  source(what: string, tokenizer: Tokenizer): PromptSource {
    const isTimed = this.#rows.length > 0 && this.#rows.every(({ arrivalNs }) => arrivalNs !== null);
    const rows = isTimed ? this.#rows.toSorted((one, other) => findTime(one) - findTime(other)) : this.#rows;
    const texts = new TraceTexts(tokenizer, this.#rule.seed);
    const { ignoresEnd } = this.#rule;
    return {
      conversations: rows.map((row) => {
        const { text: content, tokens: inputTokens } = texts.of(row);
        const maxTokens = Math.max(1, row.outputTokens);
        return [{ messages: [{ role: 'user', content }], inputTokens, maxTokens, ignoresEnd }];
      }),
      arrivalsNs: isTimed ? rows.map(findTime) : null,
      notes: [
        `${what}: ${rows.length} of ${this.#read} requests`,
        ...(this.#empty > 0 ? [`${this.#empty} lines without tokens are left out, as failed requests have them`] : []),
      ],
    };
  }

  #isInSlice({ arrivalNs }: TraceRow): boolean {
    const { slice } = this.#rule;
    if (slice === null) return true;
    if (arrivalNs === null || this.#firstNs === null) {
      throw new BadRecord('the trace has no times, so it cannot be sliced', 'leave out --trace-slice');
    }
    const sinceS = (arrivalNs - this.#firstNs) / NS_PER_S;
    return sinceS >= slice.fromS && sinceS < slice.toS;
  }
}

const findTime = ({ arrivalNs }: TraceRow): number => arrivalNs as number;

class TraceTexts {
  readonly #texts: SyntheticText;
  readonly #random: Random;
  readonly #seed: number;
  readonly #blocks = new Map<number, string>();

  constructor(tokenizer: Tokenizer, seed: number) {
    this.#texts = new SyntheticText(tokenizer);
    this.#random = seededRandom(seed);
    this.#seed = seed;
  }

  /**
   * The last block is cut to the prompt's length: two prompts with the same block are equal up to
   * the shorter length.
   */
  of({ inputTokens, blocks }: TraceRow): { readonly text: string; readonly tokens: number } {
    const parts: string[] = [];
    let left = inputTokens;
    for (const block of blocks) {
      if (left <= 0) break;
      parts.push(left >= BLOCK_TOKENS ? this.#block(block) : this.#cut(block, left));
      left -= BLOCK_TOKENS;
    }
    if (left > 0) parts.push(this.#texts.text(left, this.#random).text);
    return { text: parts.join(' '), tokens: inputTokens };
  }

  #block(name: number): string {
    const known = this.#blocks.get(name);
    if (known !== undefined) return known;
    const text = this.#cut(name, BLOCK_TOKENS);
    this.#blocks.set(name, text);
    return text;
  }

  /** The name of a block alone determines its words, so a shorter piece of it is its beginning. */
  #cut(name: number, tokens: number): string {
    return this.#texts.text(tokens, seededRandom(mixed(name, this.#seed))).text;
  }
}

/** Mixes two 32-bit integers into one (the multiplier is 2³² / φ). */
const mixed = (one: number, other: number): number => (Math.imul(one + 1, 0x9e3779b1) ^ other) >>> 0;
