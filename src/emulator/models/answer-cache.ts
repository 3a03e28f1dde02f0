/** `headerLength`: of the JSON before binary tensors, over HTTP; null without any. */
export interface EncodedAnswer {
  readonly body: Buffer;
  readonly headerLength: number | null;
}

const MAX_ANSWERS = 1000;
const MAX_BYTES = 2 ** 28;

/**
 * Encoded answers by request. Requests can vary without limit, so the cache forgets all when it
 * holds too much.
 */
export class AnswerCache {
  readonly #answers = new Map<string, EncodedAnswer>();
  #bytes = 0;

  get(key: string): EncodedAnswer | undefined {
    return this.#answers.get(key);
  }

  set(key: string, answer: EncodedAnswer): void {
    this.#bytes += answer.body.length + 2 * key.length;
    if (this.#answers.size >= MAX_ANSWERS || this.#bytes > MAX_BYTES) {
      this.#answers.clear();
      this.#bytes = answer.body.length + 2 * key.length;
    }
    this.#answers.set(key, answer);
  }
}
