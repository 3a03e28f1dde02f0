import { failed } from '../transports/outcome.ts';
import type { SendOutcome, SendSuccess } from '../types.ts';
import type { StreamEvent } from './stream-event.ts';

/** When the pieces of a streamed reply came, and how many tokens the server says they are. One at a time; used again for the next. */
export class ReplyTiming {
  readonly #addsTokens: boolean;
  /** The same array for every reply: whoever is told looks at it at once. */
  readonly #gapsNs: number[] = [];
  #sentNs = 0;
  /** 0 before the first piece with output. */
  #firstNs = 0;
  #lastNs = 0;
  #inputTokens: number | undefined;
  #outputTokens: number | undefined;
  #cachedTokens: number | undefined;
  /** null if it is not needed. */
  #text: string | null = null;

  /** `addsTokens`: the events' counts of output tokens add up. */
  constructor(addsTokens: boolean) {
    this.#addsTokens = addsTokens;
  }

  /** A request is sent; `keepsText` where the answer is wanted. */
  begin(sentNs: number, keepsText: boolean): void {
    this.#text = keepsText ? '' : null;
    this.#sentNs = sentNs;
    this.#firstNs = 0;
    this.#gapsNs.length = 0;
    this.#inputTokens = undefined;
    this.#outputTokens = undefined;
    this.#cachedTokens = undefined;
  }

  /** An event came at this time. */
  take(event: StreamEvent, nowNs: number): void {
    if (event.output !== '') this.#piece(nowNs);
    if (this.#text !== null) this.#text += event.answer;
    if (event.outputTokens !== undefined) {
      this.#outputTokens = event.outputTokens + (this.#addsTokens ? (this.#outputTokens ?? 0) : 0);
    }
    if (event.inputTokens !== undefined) this.#inputTokens = event.inputTokens;
    if (event.cachedTokens !== undefined) this.#cachedTokens = event.cachedTokens;
  }

  get hasOutput(): boolean {
    return this.#firstNs > 0;
  }

  /** Returns the outcome of a complete reply. */
  outcome(): SendOutcome {
    if (!this.hasOutput) return EMPTY;
    const pieces = this.#gapsNs.length + 1;
    // Counts that cannot be, of servers that have none, do not count.
    const isCounted = this.#outputTokens !== undefined && this.#outputTokens > 0;
    return {
      ok: true,
      tokens: {
        firstNs: this.#firstNs - this.#sentNs,
        gapsNs: this.#gapsNs,
        inputTokens: this.#inputTokens ?? 0,
        outputTokens: isCounted ? (this.#outputTokens as number) : pieces,
        ...(this.#cachedTokens !== undefined && { cachedTokens: this.#cachedTokens }),
        countedBy: isCounted ? 'usage' : 'pieces',
        ...(this.#text !== null && { text: this.#text }),
      },
    };
  }

  #piece(nowNs: number): void {
    if (this.#firstNs === 0) this.#firstNs = nowNs;
    else this.#gapsNs.push(nowNs - this.#lastNs);
    this.#lastNs = nowNs;
  }
}

const EMPTY = failed('empty', 'the reply was complete and had no output in it');

/** Returns the outcome with the prompt's own count of input tokens where the server said none. */
export function withInputTokens(outcome: SendOutcome, inputTokens: number | null | undefined): SendOutcome {
  if (!outcome.ok || outcome.tokens === undefined || outcome.tokens.inputTokens > 0 || !inputTokens) return outcome;
  const success: SendSuccess = { ...outcome, tokens: { ...outcome.tokens, inputTokens } };
  return success;
}
