import { type Random, seededRandom } from '#base/random.ts';
import type { InferRequest, PreparedRequest, SendOutcome, Transport } from '#loadgen/types.ts';
import type { SimulatedClock } from '../loadgen/simulation.ts';

const MS = 1e6;

/** How a language model in memory works through its sequences. */
export interface LanguageModel {
  /**
   * A step of so many running sequences, and what each prompt adds to the step in which it is read;
   * in milliseconds.
   */
  readonly stepMs: (running: number) => number;
  readonly promptMs: number;
  /** Sequences at once, at most. */
  readonly mostRunning: number;
  /** Tokens of a reply. */
  readonly outputTokens: (random: Random) => number;
  readonly seed: number;
}

interface Sequence {
  readonly sentNs: number;
  readonly tokens: number;
  readonly done: (outcome: SendOutcome) => void;
  readonly gapsNs: number[];
  firstNs: number;
  lastNs: number;
}

/**
 * A server of continuous batching in virtual time: every step gives each running sequence a token,
 * and reads the prompts of new ones.
 */
export class SimulatedLanguageModel implements Transport {
  readonly clock: SimulatedClock;
  readonly #model: LanguageModel;
  readonly #random: Random;
  readonly #waiting: Sequence[] = [];
  #running: Sequence[] = [];
  #isBusy = false;

  constructor(clock: SimulatedClock, model: LanguageModel) {
    this.clock = clock;
    this.#model = model;
    this.#random = seededRandom(model.seed);
  }

  prepare(request: InferRequest): PreparedRequest {
    return { request };
  }

  send(_: PreparedRequest, done: (outcome: SendOutcome) => void): void {
    const tokens = this.#model.outputTokens(this.#random);
    this.#waiting.push({ sentNs: this.clock.nowNs(), tokens, done, gapsNs: [], firstNs: 0, lastNs: 0 });
    if (this.#isBusy) return;
    this.#isBusy = true;
    this.clock.after(0, () => this.#step());
  }

  async close(): Promise<void> {}

  #step(): void {
    const admitted = this.#waiting.splice(0, this.#model.mostRunning - this.#running.length);
    this.#running.push(...admitted);
    if (this.#running.length === 0) {
      this.#isBusy = false;
      return;
    }
    const stepMs = this.#model.stepMs(this.#running.length) + admitted.length * this.#model.promptMs;
    this.clock.after(stepMs * MS, () => {
      const nowNs = this.clock.nowNs();
      const ended: Sequence[] = [];
      for (const sequence of this.#running) {
        if (sequence.firstNs === 0) sequence.firstNs = nowNs;
        else sequence.gapsNs.push(nowNs - sequence.lastNs);
        sequence.lastNs = nowNs;
        if (sequence.gapsNs.length + 1 === sequence.tokens) ended.push(sequence);
      }
      this.#running = this.#running.filter((sequence) => !ended.includes(sequence));
      for (const sequence of ended) sequence.done(toOutcome(sequence));
      this.#step();
    });
  }
}

const toOutcome = ({ firstNs, sentNs, gapsNs, tokens }: Sequence): SendOutcome => ({
  ok: true,
  tokens: { firstNs: firstNs - sentNs, gapsNs, inputTokens: 100, outputTokens: tokens, countedBy: 'usage' },
});
