import { TrituneError } from '#base/errors.ts';
import { NS_PER_S } from '#base/units.ts';
import type { ContinuousBatcher } from './continuous-batcher.ts';
import { LongestSince } from './longest-since.ts';
import { isMixed } from './policy.ts';
import type { Sequence } from './sequence.ts';
import type { EngineStep } from './step.ts';
import { addParts, isStepLaw, type StepLaw, type StepParts, type StepTimes, type StepWork } from './step-law.ts';
import { type DecodeStretch, stretchNs } from './stretch.ts';
import { WeightedTimes } from './weighted-times.ts';

/** Figures of clients and engine after the warm-up. */
export interface TokenSimulation {
  /** Requests that ended. */
  readonly requests: number;
  readonly requestsPerSecond: number;
  readonly outputTokensPerSecond: number;
  readonly totalTokensPerSecond: number;
  /**
   * One figure per request, in the order of their ends: time to first token, end-to-end, and time
   * per output token (NaN with one token).
   */
  readonly ttftNs: readonly number[];
  readonly endToEndNs: readonly number[];
  readonly tpotNs: readonly number[];
  /**
   * The longest gap of each request, in the same order; 0 with one token. If prompts interrupt it,
   * the gap of a sequence that has just begun counts whole.
   */
  readonly longestGapNs: readonly number[];
  /** Gaps between the tokens of a sequence. */
  readonly itl: WeightedTimes;
  /** Means over time. */
  readonly runningSequences: number;
  readonly kvCacheShare: number;
  readonly preemptionsPerSecond: number;
  /**
   * Share of the engine's busy time by part of the law, 0 to 1 each; zeros for a law of another
   * form.
   */
  readonly parts: StepParts;
}

/** The data of a request that a tally needs. */
export interface Requests {
  sentNs(id: number): number;
  sequence(id: number): Sequence;
}

const NO_PARTS: { -readonly [part in keyof StepParts]: number } = {
  baseNs: 0,
  floorNs: 0,
  prefillBaseNs: 0,
  perPrefillTokenNs: 0,
  perDecodingNs: 0,
  perContextTokenNs: 0,
  perPrefillPairNs: 0,
};
const PARTS = Object.keys(NO_PARTS) as (keyof StepParts)[];

/** The most points of a stretch at which gaps are evaluated. */
const POINTS = 8;

/**
 * Counts events from the end of a warm-up on. Gaps count with the step that ends them, requests
 * with their last token.
 */
export class SimulatedTokenTally {
  readonly #requests: Requests;
  readonly #wanted: number;
  readonly #roundTripNs: number;
  readonly #law: StepLaw | StepTimes;
  readonly #spread: () => number;
  #warmUpLeft: number;
  #isCounting: boolean;
  #beginNs = 0;
  #endNs = 0;
  /** The time of the decoding sequences' last token, except for those in `#fresh`. */
  #decodedNs = 0;
  /** The times of tokens in steps without decoding, since the last step with decoding. */
  readonly #fresh = new Map<number, number>();
  /** The times of preempted sequences' last tokens. */
  readonly #interrupted = new Map<number, number>();
  readonly #firstNs = new Map<number, number>();
  /**
   * The longest gap of a step, by the number of steps and stretches before it; and that number at a
   * sequence's first token.
   */
  readonly #longest = new LongestSince();
  readonly #firstGap = new Map<number, number>();
  /** The longest gap by a preemption. */
  readonly #ownGapNs = new Map<number, number>();
  #gaps = 0;
  readonly #ttftNs: number[] = [];
  readonly #endToEndNs: number[] = [];
  readonly #tpotNs: number[] = [];
  readonly #longestGapNs: number[] = [];
  readonly #itl = new WeightedTimes();
  readonly #partsNs = { ...NO_PARTS };
  #inputTokens = 0;
  #outputTokens = 0;
  #emitted = 0;
  #runningNs = 0;
  #kvNs = 0;
  #preemptions = 0;

  /**
   * `spread`: draws a factor on the time of each step of a stretch. `roundTripNs`: time of a
   * request outside the engine, before its first token.
   */
  constructor(
    law: StepLaw | StepTimes,
    requests: Requests,
    options: {
      readonly warmUpRequests: number;
      readonly requests: number;
      readonly roundTripNs: number;
      readonly spread: () => number;
    },
  ) {
    this.#law = law;
    this.#requests = requests;
    this.#wanted = options.requests;
    this.#roundTripNs = options.roundTripNs;
    this.#spread = options.spread;
    this.#warmUpLeft = options.warmUpRequests;
    this.#isCounting = options.warmUpRequests === 0;
  }

  get isFull(): boolean {
    return this.#ttftNs.length >= this.#wanted;
  }

  /** Counts a step that the batcher has taken. */
  step(step: EngineStep, batcher: ContinuousBatcher): void {
    const { durationNs, endNs, work, first, resumed, finished, preempted } = step;
    for (const id of preempted) {
      if (!this.#interrupted.has(id)) this.#interrupted.set(id, this.#fresh.get(id) ?? this.#decodedNs);
      this.#fresh.delete(id);
    }
    if (this.#isCounting) {
      this.#spent(work, durationNs, batcher.running + finished.length, batcher.kvCacheShare);
      this.#preemptions += preempted.length;
      this.#emitted += work.decoding + first.length + resumed.length;
      const usual = work.decoding - (work.decoding > 0 ? this.#fresh.size : 0);
      if (usual > 0) this.#itl.add(endNs - this.#decodedNs, usual);
      if (work.decoding > 0) for (const atNs of this.#fresh.values()) this.#itl.add(endNs - atNs, 1);
      for (const id of resumed) this.#itl.add(endNs - (this.#interrupted.get(id) ?? endNs), 1);
    }
    if (work.decoding > 0) this.#longest.add(this.#gaps++, endNs - this.#decodedNs);
    for (const id of resumed) {
      this.#ownGapNs.set(id, Math.max(this.#ownGapNs.get(id) ?? 0, endNs - (this.#interrupted.get(id) ?? endNs)));
      this.#interrupted.delete(id);
    }
    for (const id of first) {
      this.#interrupted.delete(id);
      this.#firstNs.set(id, endNs);
      this.#firstGap.set(id, this.#gaps);
    }
    if (isMixed(batcher.policy) || work.decoding > 0) {
      this.#decodedNs = endNs;
      this.#fresh.clear();
    } else {
      for (const id of first) this.#fresh.set(id, endNs);
      for (const id of resumed) this.#fresh.set(id, endNs);
    }
    for (const id of finished) this.#finish(id, endNs);
    if (finished.length > 0) this.#settle(endNs);
  }

  /** Counts a stretch that the batcher has taken; returns its end. */
  stretch(stretch: DecodeStretch, beginNs: number, batcher: ContinuousBatcher): number {
    const { steps, sequences, firstNs, growthNs, work } = stretch;
    const spanNs = stretchNs(stretch, steps);
    const endNs = beginNs + spanNs;
    if (this.#isCounting) {
      const meanWork = { ...work, contextTokens: work.contextTokens + (sequences * (steps - 1)) / 2 };
      this.#spent(meanWork, spanNs, batcher.running, batcher.kvCacheShare, steps);
      this.#emitted += steps * sequences;
      // The first gaps begin at the last tokens before the stretch.
      const usual = sequences - this.#fresh.size;
      if (usual > 0) this.#itl.add(beginNs + firstNs - this.#decodedNs, usual);
      for (const atNs of this.#fresh.values()) this.#itl.add(beginNs + firstNs - atNs, 1);
      const points = Math.min(POINTS, steps - 1);
      for (let point = 0; point < points; point++) {
        const step = 1 + ((steps - 1) * (point + 0.5)) / points - 0.5;
        this.#itl.add((firstNs + growthNs * step) * this.#spread(), ((steps - 1) / points) * sequences);
      }
    }
    this.#longest.add(this.#gaps++, Math.max(beginNs + firstNs - this.#decodedNs, firstNs + growthNs * (steps - 1)));
    this.#fresh.clear();
    this.#decodedNs = endNs;
    return endNs;
  }

  /** Returns the figures. Throws INPUT_INVALID when nothing came after the warm-up. */
  summary(): TokenSimulation {
    const requests = this.#ttftNs.length;
    if (requests === 0) {
      throw new TrituneError('INPUT_INVALID', 'the simulation was over before its warm-up', 'send more requests');
    }
    const spanNs = this.#endNs - this.#beginNs;
    const perSecond = (count: number): number => (count * NS_PER_S) / spanNs;
    const outputTokensPerSecond = perSecond(this.#emitted);
    return {
      requests,
      requestsPerSecond: perSecond(requests),
      outputTokensPerSecond,
      totalTokensPerSecond: outputTokensPerSecond * (1 + this.#inputTokens / this.#outputTokens),
      ttftNs: this.#ttftNs,
      endToEndNs: this.#endToEndNs,
      tpotNs: this.#tpotNs,
      longestGapNs: this.#longestGapNs,
      itl: this.#itl,
      runningSequences: this.#runningNs / spanNs,
      kvCacheShare: this.#kvNs / spanNs,
      preemptionsPerSecond: perSecond(this.#preemptions),
      parts: this.#shares(),
    };
  }

  #shares(): StepParts {
    const total = PARTS.reduce((sum, part) => sum + this.#partsNs[part], 0);
    return Object.fromEntries(
      PARTS.map((part) => [part, this.#partsNs[part] / Math.max(1, total)]),
    ) as unknown as StepParts;
  }

  #spent(work: StepWork, ns: number, running: number, kvCacheShare: number, steps = 1): void {
    this.#runningNs += ns * running;
    this.#kvNs += ns * kvCacheShare;
    if (isStepLaw(this.#law)) addParts(this.#partsNs, this.#law, work, steps);
  }

  #finish(id: number, endNs: number): void {
    const firstNs = this.#firstNs.get(id) ?? endNs;
    const longestGapNs = Math.max(
      this.#longest.since(this.#firstGap.get(id) ?? this.#gaps),
      this.#ownGapNs.get(id) ?? 0,
    );
    this.#ownGapNs.delete(id);
    this.#firstNs.delete(id);
    this.#firstGap.delete(id);
    if (!this.#isCounting) {
      this.#warmUpLeft--;
      return;
    }
    const { inputTokens, outputTokens } = this.#requests.sequence(id);
    const sentNs = this.#requests.sentNs(id);
    this.#inputTokens += inputTokens;
    this.#outputTokens += outputTokens;
    this.#ttftNs.push(firstNs - sentNs + this.#roundTripNs);
    this.#endToEndNs.push(endNs - sentNs + this.#roundTripNs);
    this.#longestGapNs.push(longestGapNs);
    this.#tpotNs.push(outputTokens > 1 ? (endNs - firstNs) / (outputTokens - 1) : Number.NaN);
  }

  #settle(endNs: number): void {
    this.#endNs = endNs;
    if (this.#isCounting || this.#warmUpLeft > 0) return;
    this.#isCounting = true;
    this.#beginNs = endNs;
  }
}
