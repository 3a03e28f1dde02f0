import { TrituneError } from '#base/errors.ts';
import { Decoding } from './decoding.ts';
import { KvCache } from './kv-cache.ts';
import { type ContinuousPolicy, isMixed } from './policy.ts';
import { type Chunk, type Progress, sumWork, waitingProgress } from './progress.ts';
import type { Sequence } from './sequence.ts';
import type { Admission, EngineStep } from './step.ts';
import { type StepLaw, type StepTimes, stepTimeNs } from './step-law.ts';
import { type DecodeStretch, stepsWithin } from './stretch.ts';
import { TakenStep } from './taken-step.ts';

/** The most finished sequences that stay listed, besides as many as run. */
const FORGOTTEN = 64;

/**
 * An engine's scheduler of continuous batching, one step at a time. Its driver keeps the clock: it
 * calls `step` when a step may begin, waits for the step's duration, and calls it again; it may
 * call `enqueue` meanwhile.
 *
 * It behaves like vLLM V1's scheduler (`vllm/v1/core/sched/scheduler.py`). Running sequences come
 * first, in the order of admission, each with a token of output or a chunk of its prompt. Waiting
 * ones follow, while sequences and tokens are below their limits and the whole prompt fits into the
 * KV cache. If a running sequence has no place, the last admitted one gives up its own, waits
 * before all others, and computes its tokens again. A policy that neither chunks nor mixes prompts
 * behaves like vLLM V0's: a step has whole prompts, or else decodes. A static one admits nothing
 * while any sequence runs.
 */
export class ContinuousBatcher {
  readonly policy: ContinuousPolicy;
  readonly #law: StepLaw | StepTimes;
  readonly #spread: () => number;
  readonly #kv: KvCache;
  readonly #byId = new Map<number, Progress>();
  readonly #decoding = new Decoding(this.#byId);
  /** The most sequences that run at once: in a mixed step each takes at least one token. */
  readonly #mostRunning: number;
  /** False while a static batch runs. */
  #admits = true;
  #waiting: Progress[] = [];
  #prefilling: Progress[] = [];
  /** Running sequences in the order of admission, and some that have left. */
  #admitted: Progress[] = [];
  #enqueued = 0;
  #preemptions = 0;

  /**
   * `spread`: draws a factor on each step's time; default constantly 1. Throws INPUT_INVALID for a
   * policy under which nothing can run.
   */
  constructor(policy: ContinuousPolicy, law: StepLaw | StepTimes, spread: () => number = () => 1) {
    const { maxSequences, maxStepTokens, kvCacheTokens } = policy;
    for (const [name, value] of Object.entries({ maxSequences, maxStepTokens, kvCacheTokens })) {
      if (value === null || value >= 1) continue;
      throw new TrituneError('INPUT_INVALID', `no engine runs with ${name} ${value}`, 'give a number of at least 1');
    }
    this.policy = policy;
    this.#law = law;
    this.#spread = spread;
    this.#kv = new KvCache(kvCacheTokens);
    this.#mostRunning = isMixed(policy) ? Math.min(maxSequences, maxStepTokens ?? maxSequences) : maxSequences;
  }

  /** The number of running sequences. */
  get running(): number {
    return this.#decoding.count + this.#prefilling.length;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Share of the KV cache in use, 0 to 1; 0 without a limit. */
  get kvCacheShare(): number {
    return this.#kv.usedShare;
  }

  /** The number of times that a sequence lost its place in the KV cache so far. */
  get preemptions(): number {
    return this.#preemptions;
  }

  /** True if the engine can serve the sequence at all: it must fit into the KV cache alone. */
  takes({ inputTokens, outputTokens }: Sequence): boolean {
    return inputTokens + outputTokens <= (this.policy.kvCacheTokens ?? Number.POSITIVE_INFINITY);
  }

  /**
   * Queues a sequence for admission and returns its identifier, from 0. Throws INPUT_INVALID for
   * one that the engine cannot serve.
   */
  enqueue(sequence: Sequence): number {
    if (!this.takes(sequence)) {
      throw new TrituneError(
        'INPUT_INVALID',
        `${sequence.inputTokens} and ${sequence.outputTokens} tokens have no place in a KV cache of ${this.policy.kvCacheTokens}`,
        'give a larger KV cache or shorter sequences',
      );
    }
    const progress = waitingProgress(this.#enqueued++, sequence);
    this.#byId.set(progress.id, progress);
    this.#waiting.push(progress);
    return progress.id;
  }

  /** Removes a sequence whose client has gone; does nothing if it is not there. */
  cancel(id: number): void {
    const progress = this.#byId.get(id);
    if (!progress) return;
    if (progress.state === 'waiting') this.#waiting = this.#waiting.filter((each) => each !== progress);
    else this.#stop(progress);
    this.#forget(progress);
  }

  /** Begins a step and returns it; null when there is nothing to do. */
  step(nowNs: number): EngineStep | null {
    const [admitted, preempted]: [Admission[], Progress[]] = [[], []];
    const { chunksPrefill, isStatic = false } = this.policy;
    const mixes = isMixed(this.policy);
    if (isStatic) {
      this.#admits = this.running === 0;
      while (chunksPrefill && this.#canAdmit(this.#waiting[0])) this.#admit(admitted);
    }
    const chunks = mixes ? this.#chunksBesideDecoding(admitted, preempted) : this.#wholePrompts(admitted);
    const decodes = mixes || chunks.length === 0;
    if (isStatic) this.#admits = false;
    if (decodes) this.#makePlace(0, preempted);
    const decoding = decodes ? this.#decoding.count : 0;
    if (decoding === 0 && chunks.length === 0) return null;
    const contextTokens = decodes ? this.#decoding.contextTokens : 0;
    const work = sumWork(chunks, decoding, contextTokens);
    const durationNs = stepTimeNs(this.#law, work) * this.#spread();
    const ended = decodes ? this.#decode() : [];
    const decodingStep = decodes ? this.#decoding.steps : 0;
    const completed = this.#prefill(chunks);
    const running = this.#admitted;
    return new TakenStep(nowNs, durationNs, work, { admitted, preempted, ended, completed, running, decodingStep });
  }

  /**
   * Takes the steps that begin within `spanNs` and in which sequences only decode, if nothing is
   * enqueued meanwhile; null for fewer than two. Their times are the law's, without spread.
   */
  decodeStretch(spanNs: number): DecodeStretch | null {
    const sequences = this.#decoding.count;
    if (sequences === 0 || this.#prefilling.length > 0 || this.#canAdmit(this.#waiting[0])) return null;
    const { contextTokens } = this.#decoding;
    const work = { prefillTokens: 0, prefillPairs: 0, decoding: sequences, contextTokens };
    const firstNs = stepTimeNs(this.#law, work);
    const growthNs = stepTimeNs(this.#law, { ...work, contextTokens: contextTokens + sequences }) - firstNs;
    const steps = Math.min(
      this.#decoding.stepsToEnd - 1,
      Math.floor(this.#kv.free / sequences),
      stepsWithin(spanNs, firstNs, growthNs),
    );
    if (steps < 2) return null;
    this.#kv.take(steps * sequences);
    this.#decoding.steps += steps;
    return { steps, sequences, work, firstNs, growthNs };
  }

  /**
   * Returns chunks of running prompts, then of waiting ones, as many as fit next to a token of each
   * decoding sequence; without chunking, whole prompts that fit, and in a step without anything
   * else the first one whatever its length.
   */
  #chunksBesideDecoding(admitted: Admission[], preempted: Progress[]): Chunk[] {
    const chunks: Chunk[] = [];
    let budget = (this.policy.maxStepTokens ?? Number.POSITIVE_INFINITY) - this.#decoding.count;
    const add = (progress: Progress): void => {
      const tokens = Math.min(progress.needed - progress.computed, budget);
      this.#makePlace(tokens, preempted);
      if (progress.state !== 'prefilling') return;
      budget -= tokens;
      chunks.push(this.#chunk(progress, tokens));
    };
    if (this.#prefilling.length > 0) {
      for (const progress of [...this.#prefilling]) if (budget > 0 && progress.state === 'prefilling') add(progress);
    }
    while (budget > 0 && preempted.length === 0) {
      const [next] = this.#waiting;
      if (!this.#canAdmit(next)) break;
      const tokens = next.needed - this.#cachedTokens(next);
      if (!this.policy.chunksPrefill && tokens > budget) {
        if (this.running > 0) break;
        budget = tokens;
      }
      add(this.#admit(admitted));
    }
    return chunks;
  }

  /**
   * Returns whole waiting prompts, as many as a step has tokens for; the first one whatever its
   * length.
   */
  #wholePrompts(admitted: Admission[]): Chunk[] {
    const chunks: Chunk[] = [];
    let budget = this.policy.maxStepTokens ?? Number.POSITIVE_INFINITY;
    for (let [next] = this.#waiting; this.#canAdmit(next); [next] = this.#waiting) {
      if (chunks.length > 0 && next.needed - this.#cachedTokens(next) > budget) break;
      const progress = this.#admit(admitted);
      const chunk = this.#chunk(progress, progress.needed - progress.computed);
      budget -= chunk.tokens;
      chunks.push(chunk);
    }
    return chunks;
  }

  #chunk(progress: Progress, tokens: number): Chunk {
    this.#kv.take(tokens);
    return { progress, tokens };
  }

  /** True if a waiting sequence has its place: always if nothing else runs. */
  #canAdmit(progress: Progress | undefined): progress is Progress {
    if (!progress || !this.#admits || this.running >= this.#mostRunning) return false;
    const idle =
      progress.sequence.prefix && this.policy.cachesPrefixes ? this.#kv.countIdle(progress.sequence.prefix) : 0;
    const tokens = progress.needed - this.#cachedTokens(progress) + idle;
    return this.running === 0 || this.#kv.free - this.#decoding.count >= tokens;
  }

  /**
   * Returns the number of needed tokens that are cached; the last one never counts, because its
   * output is needed.
   */
  #cachedTokens({ sequence: { prefix, cachedTokens = 0 }, needed }: Progress): number {
    if (!this.policy.cachesPrefixes) return 0;
    return Math.min(Math.max(cachedTokens, prefix ? this.#kv.cached(prefix) : 0), needed - 1);
  }

  /** Lets the first waiting sequence run. */
  #admit(admitted: Admission[]): Progress {
    const progress = this.#waiting.shift() as Progress;
    const cachedTokens = this.#cachedTokens(progress);
    progress.computed = cachedTokens;
    const { prefix } = progress.sequence;
    if (prefix && cachedTokens > 0 && this.#kv.cached(prefix) > 0) {
      progress.shared = Math.min(cachedTokens, this.#kv.cached(prefix));
      this.#kv.hold(prefix);
    }
    this.#kv.take(cachedTokens - progress.shared);
    progress.state = 'prefilling';
    this.#prefilling.push(progress);
    this.#admitted.push(progress);
    admitted.push({ id: progress.id, cachedTokens });
    return progress;
  }

  /**
   * Preempts sequences, the last admitted first, until there is place for the tokens and one token
   * of each decoding sequence.
   */
  #makePlace(tokens: number, preempted: Progress[]): void {
    while (this.running > 1 && this.#kv.free < tokens + this.#decoding.count) {
      const last = this.#admitted.pop() as Progress;
      if (last.state === 'gone') continue;
      this.#stop(last);
      last.state = 'waiting';
      last.needed = last.sequence.inputTokens + last.emitted;
      last.computed = 0;
      this.#waiting.unshift(last);
      this.#preemptions++;
      preempted.push(last);
    }
  }

  /** Takes one decoding step; returns the sequences that end with it. */
  #decode(): Progress[] {
    this.#kv.take(this.#decoding.count);
    this.#decoding.steps++;
    const ended: Progress[] = [];
    for (let progress = this.#decoding.takeEnded(); progress; progress = this.#decoding.takeEnded()) {
      this.#stop(progress);
      this.#forget(progress);
      ended.push(progress);
    }
    return ended;
  }

  /** Computes chunks; returns the sequences that thereby get a token. */
  #prefill(chunks: readonly Chunk[]): Progress[] {
    if (chunks.length === 0) return [];
    for (const { progress, tokens } of chunks) progress.computed += tokens;
    const completed = chunks.map(({ progress }) => progress).filter(({ computed, needed }) => computed === needed);
    for (const progress of completed) {
      progress.emitted++;
      this.#sharePrefix(progress);
      if (progress.emitted === progress.sequence.outputTokens) {
        this.#stop(progress);
        this.#forget(progress);
      } else {
        this.#prefilling.splice(this.#prefilling.indexOf(progress), 1);
        this.#decoding.join(progress);
      }
    }
    return completed;
  }

  /** Lets others use the prefix of a prompt that is computed. */
  #sharePrefix(progress: Progress): void {
    const { prefix } = progress.sequence;
    if (!prefix || !this.policy.cachesPrefixes) return;
    this.#kv.share(prefix, progress.shared);
    progress.shared = prefix.tokens;
  }

  /** Gives up a running sequence's place. */
  #stop(progress: Progress): void {
    if (progress.state === 'decoding') this.#decoding.leave(progress);
    else this.#prefilling.splice(this.#prefilling.indexOf(progress), 1);
    this.#kv.give(progress.computed - progress.shared);
    if (progress.shared > 0 && progress.sequence.prefix) this.#kv.release(progress.sequence.prefix);
    progress.shared = 0;
  }

  #forget(progress: Progress): void {
    progress.state = 'gone';
    this.#byId.delete(progress.id);
    if (this.#admitted.length > 2 * this.running + FORGOTTEN) {
      this.#admitted = this.#admitted.filter(({ state }) => state !== 'gone');
    }
  }
}
