import type { RequestLimits } from '#queueing/continuous/request-limits.ts';
import { LatencyHistogram } from '#stats/histogram.ts';
import { ClassCount, type ClassTally } from './class-tally.ts';
import type { HeldUp } from './client/held-up.ts';
import { ClientTimeSum, type ClientTimeSums } from './client-times.ts';
import type { FailureTally } from './failure-tally.ts';
import { computeShare, type Part } from './paced-part.ts';
import { isRefusal } from './plain-http-refusal.ts';
import { ReplyCounter, type ReplyTally } from './plain-http-tally.ts';
import { endsWithin } from './request-limits.ts';
import type { TokenReply } from './token-reply.ts';
import { TokenCount, type TokenTally } from './token-tally.ts';
import type { ClientTimes, HttpReply, RequestClass, SendFailure, SendOutcome } from './types.ts';

/** A longer message is cut. It may be a server's. */
const MAX_MESSAGE = 4096;

/** The requests that completed between two moments. Consecutive batches leave no gap. */
export interface Batch {
  readonly startNs: number;
  readonly endNs: number;
  readonly succeeded: number;
  readonly failed: number;
  /** The failed requests of this batch by kind; absent if none failed. */
  readonly failures?: readonly FailureTally[];
  /** Latencies of the successful requests. */
  readonly latencies: LatencyHistogram;
  /** Latencies of the same requests from their due time; absent without due times. */
  readonly fromDue?: LatencyHistogram;
  /**
   * Responses to the successful requests, and sequences that ended with them; 0 if the model has
   * none.
   */
  readonly responses: number;
  readonly sequences: number;
  /** Replies over plain HTTP; absent if there were none. */
  readonly replies?: ReplyTally;
  /** Streamed replies of a language model; absent if there were none. */
  readonly tokens?: TokenTally;
  /** Successful requests within all limits; absent without limits. */
  readonly good?: number;
  /** Counts of each request class, in the order of the classes; absent without classes. */
  readonly classes?: readonly ClassTally[];
  /** Times of a sample of the successful requests; absent if none was sampled. */
  readonly clientTimes?: ClientTimeSums;
  /** Absent if the sender is not watched. */
  readonly heldUp?: HeldUp;
}

export interface BatchRule {
  /** A batch lasts at least this long, … */
  readonly lengthNs: number;
  /** … and holds at least this number of requests, including failed ones. */
  readonly minRequests: number;
  /**
   * If set, a batch ends no earlier than the next whole number of lengths after this moment, so
   * that several recorders keep in step.
   */
  readonly inStepWithNs?: number;
  /**
   * If set, only this part of each batch's requests arrives here; for batches that only the number
   * of requests ends.
   */
  readonly part?: Part;
  /**
   * If set, a sending thread checks for delays at this interval, and reports them with each batch.
   */
  readonly watchEveryNs?: number;
}

export interface RecorderOptions {
  readonly reuses?: boolean;
  readonly limits?: RequestLimits | undefined;
  readonly classes?: readonly RequestClass[] | undefined;
}

/**
 * Sorts completed requests into batches. A batch begins with a completion, which it does not count,
 * and ends with the first one that meets its rule, which it counts; its length between them is
 * exact. With a cut at a fixed time, requests that complete together, such as a server's batch,
 * would fall on either side and make the rate look noisier than it is.
 */
export class Recorder {
  readonly #reuses: boolean;
  /** Limits of each class, or of all requests if there are no classes. */
  readonly #limits: readonly (RequestLimits | undefined)[];
  readonly #countsGood: boolean;
  #rule: BatchRule | null = null;
  #onBatch: (batch: Batch) => void = () => undefined;
  /** null until a completion opens the first batch. */
  #startNs: number | null = null;
  #dueNs = 0;
  #needed = 0;
  #batches = 0;
  #succeeded = 0;
  #failed = 0;
  #responses = 0;
  #sequences = 0;
  #replies: ReplyCounter | undefined;
  #clientTimes: ClientTimeSum | undefined;
  #tokens: TokenCount | undefined;
  #good = 0;
  #classes: readonly ClassCount[] | undefined;
  #latencies = new LatencyHistogram();
  #fromDue: LatencyHistogram | undefined;
  /** The counters of the previous batch, to be reused. */
  #spare: readonly [LatencyHistogram?, LatencyHistogram?, TokenCount?, (readonly ClassCount[])?] = [];
  #failures: { -readonly [K in keyof FailureTally]: FailureTally[K] }[] = [];
  /** Failed requests in the batches that have ended since `start`. */
  #failedBefore = 0;
  #unserved: { readonly sinceNs: number; readonly message: string } | null = null;

  /**
   * `reuses`: a batch's histograms are valid until the next batch ends, and are then refilled, so
   * that a batch takes no memory. `limits`: of a good request whose class has no limits of its own.
   */
  constructor({ reuses = false, limits, classes }: RecorderOptions = {}) {
    this.#reuses = reuses;
    this.#limits = classes?.map((each) => each.limits ?? limits) ?? [limits];
    this.#countsGood = this.#limits.some((each) => each !== undefined);
    this.#classes = classes?.map(() => new ClassCount());
  }

  /**
   * Restarts with the next completion, or at `startNs` if given, in which case that completion
   * counts too. Forgets everything before, including failures.
   */
  start(rule: BatchRule, onBatch: (batch: Batch) => void, startNs: number | null = null): void {
    this.#rule = rule;
    this.#onBatch = onBatch;
    this.#failedBefore = 0;
    this.#empty();
    this.#startNs = null;
    this.#batches = 0;
    if (startNs !== null) this.#begin(startNs, rule);
  }

  /** Stops counting; later completions are not recorded. */
  stop(): void {
    this.#rule = null;
  }

  /**
   * `fromDueNs`: the time since the request was due, if it follows a schedule. `classIndex`: its
   * class, if there are classes.
   */
  record(nowNs: number, latencyNs: number, outcome: SendOutcome, fromDueNs?: number, classIndex = 0): void {
    if (outcome.ok) this.#unserved = null;
    else if (outcome.kind === 'refused' || outcome.kind === 'reset' || outcome.isOutage) {
      this.#unserved ??= { sinceNs: nowNs, message: outcome.message };
    }
    if (this.#rule === null) return;
    if (this.#startNs === null) {
      this.#begin(nowNs, this.#rule);
      return;
    }
    if (outcome.ok) {
      this.#succeeded++;
      this.#latencies.record(latencyNs);
      if (outcome.times !== undefined) this.#addTimes(outcome.times, latencyNs);
      if (outcome.responses !== undefined) this.#responses += outcome.responses;
      if (outcome.endsSequence) this.#sequences++;
      if (outcome.reply !== undefined) this.#countReply(outcome.reply);
      if (fromDueNs !== undefined) this.#recordFromDue(fromDueNs);
      const limits = this.#limits[classIndex];
      const endToEndNs = fromDueNs ?? latencyNs;
      const isGood =
        outcome.tokens === undefined
          ? !isRefusal(outcome.reply?.status ?? 0) && (limits === undefined || endsWithin(endToEndNs, limits))
          : this.#countTokens(outcome.tokens, latencyNs, fromDueNs, limits);
      if (isGood) this.#good++;
      if (this.#classes !== undefined) {
        const count = this.#classes[classIndex] as ClassCount;
        count.latencies.record(endToEndNs);
        if (isGood) count.good++;
      }
    } else {
      this.#failed++;
      if (this.#classes !== undefined) (this.#classes[classIndex] as ClassCount).failed++;
      this.#countFailure(outcome);
    }
    if (nowNs >= this.#dueNs && this.#succeeded + this.#failed >= this.#needed) this.#close(nowNs);
  }

  /** Ends the open batch now if anything completed in it, regardless of its rule. */
  closeNow(nowNs: number): void {
    if (this.#rule !== null && this.#succeeded + this.#failed > 0) this.#close(nowNs);
  }

  /** Failed requests since `start`, including those of the open batch. */
  get failedSoFar(): number {
    return this.#failedBefore + this.#failed;
  }

  /**
   * The time since which every connection was refused or cut, or the answer was that nobody serves,
   * with nothing served in between; null if the server serves.
   */
  get unserved(): { readonly sinceNs: number; readonly message: string } | null {
    return this.#unserved;
  }

  #begin(startNs: number, { lengthNs, minRequests, inStepWithNs, part }: BatchRule): void {
    this.#startNs = startNs;
    const before = minRequests * this.#batches++;
    this.#needed = part ? computeShare(before + minRequests, part) - computeShare(before, part) : minRequests;
    // The clocks of two threads differ by some microseconds, which must not keep a batch open that
    // its number of requests has ended.
    if (lengthNs === 0) this.#dueNs = Number.NEGATIVE_INFINITY;
    else
      this.#dueNs =
        inStepWithNs === undefined
          ? startNs + lengthNs
          : inStepWithNs + (Math.floor((startNs - inStepWithNs) / lengthNs) + 1) * lengthNs;
  }

  #empty(): void {
    this.#succeeded = 0;
    this.#failed = 0;
    this.#responses = 0;
    this.#sequences = 0;
    this.#replies = undefined;
    this.#clientTimes = undefined;
    this.#good = 0;
    const [latencies, fromDue, tokens, classes] = this.#spare;
    this.#spare = this.#reuses ? [this.#latencies, this.#fromDue, this.#tokens, this.#classes] : [];
    this.#latencies = emptied(latencies) ?? new LatencyHistogram();
    this.#fromDue = emptied(fromDue);
    tokens?.reset();
    this.#tokens = tokens;
    for (const each of classes ?? []) each.reset();
    this.#classes = classes ?? this.#classes?.map(() => new ClassCount());
    this.#failures = [];
  }

  #close(nowNs: number): void {
    const batch = {
      startNs: this.#startNs as number,
      endNs: nowNs,
      succeeded: this.#succeeded,
      failed: this.#failed,
      ...(this.#failures.length > 0 && { failures: this.#failures }),
      latencies: this.#latencies,
      responses: this.#responses,
      sequences: this.#sequences,
      ...(this.#fromDue?.count && { fromDue: this.#fromDue }),
      ...(this.#replies && { replies: this.#replies.tally }),
      ...(this.#tokens?.ttft.count && { tokens: this.#tokens }),
      ...(this.#countsGood && { good: this.#good }),
      ...(this.#classes && { classes: this.#classes }),
      ...(this.#clientTimes && { clientTimes: { ...this.#clientTimes } }),
    };
    this.#failedBefore += this.#failed;
    this.#empty();
    this.#begin(nowNs, this.#rule as BatchRule);
    this.#onBatch(batch);
  }

  #addTimes(times: ClientTimes, latencyNs: number): void {
    this.#clientTimes ??= new ClientTimeSum();
    this.#clientTimes.add(times, latencyNs);
  }

  #recordFromDue(ns: number): void {
    this.#fromDue ??= new LatencyHistogram();
    this.#fromDue.record(ns);
  }

  #countTokens(
    reply: TokenReply,
    latencyNs: number,
    fromDueNs: number | undefined,
    limits: RequestLimits | undefined,
  ): boolean {
    this.#tokens ??= new TokenCount();
    return this.#tokens.add(reply, latencyNs, fromDueNs, limits);
  }

  #countReply(reply: HttpReply): void {
    this.#replies ??= new ReplyCounter();
    this.#replies.add(reply);
  }

  #countFailure({ kind, message }: SendFailure): void {
    const same = this.#failures.find((failure) => failure.kind === kind);
    if (same) same.count++;
    else this.#failures.push({ kind, count: 1, firstMessage: message.slice(0, MAX_MESSAGE) });
  }
}

function emptied(histogram: LatencyHistogram | undefined): LatencyHistogram | undefined {
  if (histogram !== undefined && histogram.count > 0) histogram.reset();
  return histogram;
}
