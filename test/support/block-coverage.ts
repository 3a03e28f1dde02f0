import { Session } from 'node:inspector';

interface FunctionCoverage {
  readonly ranges: readonly { readonly startOffset: number; readonly endOffset: number; readonly count: number }[];
}

/**
 * Which blocks of the sources have run, as V8 counts them in this thread. Of functions that ran
 * before there is one, it knows only that they run.
 */
export class BlockCoverage {
  readonly #session = new Session();
  readonly #seen = new Set<string>();
  #isCounting = true;

  constructor() {
    this.#session.connect();
    this.#post('Profiler.enable');
    this.#post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** How many have run. */
  get blocks(): number {
    return this.#seen.size;
  }

  /**
   * Returns how many blocks have run since the last call that never ran before; `keep`: they count
   * as seen from now on.
   */
  fresh(keep = true): number {
    const { result } = this.#post('Profiler.takePreciseCoverage') as {
      readonly result: readonly { readonly url: string; readonly functions: readonly FunctionCoverage[] }[];
    };
    let fresh = 0;
    for (const { url, functions } of result) {
      if (!url.includes('/src/') || url.includes('/node_modules/')) continue;
      for (const { ranges } of functions) {
        for (const { startOffset, endOffset, count } of ranges) {
          const block = `${url} ${startOffset} ${endOffset}`;
          if (count === 0 || this.#seen.has(block)) continue;
          fresh++;
          if (keep) this.#seen.add(block);
        }
      }
    }
    return fresh;
  }

  /** Whether blocks are counted, until `stop`. */
  get isCounting(): boolean {
    return this.#isCounting;
  }

  /** Ends the counting, which makes all that runs about ten times as slow. */
  stop(): void {
    this.#isCounting = false;
    this.#post('Profiler.stopPreciseCoverage');
    this.#session.disconnect();
  }

  /** A session of one's own thread answers at once. */
  #post(method: string, parameters: object = {}): unknown {
    let answer: unknown;
    this.#session.post(method, parameters, (error, result) => {
      if (error) throw error;
      answer = result;
    });
    return answer;
  }
}
