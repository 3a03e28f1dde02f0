import { failed } from '../transports/outcome.ts';
import type { SendOutcome, SendSuccess } from '../types.ts';
import type { StreamEvent } from './stream-event.ts';

/**
 * Records when the pieces of a streamed reply arrived, and the server's token counts. Handles one
 * reply at a time, and is reused for the next.
 */
export class ReplyTiming {
  readonly #addsTokens: boolean;
  /** The same array for every reply: receivers must read it at once. */
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

  /** `addsTokens`: the output token counts of the events add up. */
  constructor(addsTokens: boolean) {
    this.#addsTokens = addsTokens;
  }

  /** Starts with the sending of a request; `keepsText` if the answer is wanted. */
  begin(sentNs: number, keepsText: boolean): void {
    this.#text = keepsText ? '' : null;
    this.#sentNs = sentNs;
    this.#firstNs = 0;
    this.#gapsNs.length = 0;
    this.#inputTokens = undefined;
    this.#outputTokens = undefined;
    this.#cachedTokens = undefined;
  }

  /** Takes an event that arrived at this time. */
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
    // Ignores impossible counts, which come from servers that have none.
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

  /** Returns the outcome of a reply that came whole, which says nothing of its first token. */
  wholeOutcome(): SendOutcome {
    const outcome = this.outcome();
    return outcome.ok && outcome.tokens ? { ...outcome, tokens: { ...outcome.tokens, firstNs: null } } : outcome;
  }

  #piece(nowNs: number): void {
    if (this.#firstNs === 0) this.#firstNs = nowNs;
    else this.#gapsNs.push(nowNs - this.#lastNs);
    this.#lastNs = nowNs;
  }
}

const EMPTY = failed('empty', 'the reply was complete and had no output in it');

/** Returns the outcome with the prompt's own count of input tokens if the server reported none. */
export function withInputTokens(outcome: SendOutcome, inputTokens: number | null | undefined): SendOutcome {
  if (!outcome.ok || outcome.tokens === undefined || outcome.tokens.inputTokens > 0 || !inputTokens) return outcome;
  const success: SendSuccess = { ...outcome, tokens: { ...outcome.tokens, inputTokens } };
  return success;
}
