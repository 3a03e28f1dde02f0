import { NS_PER_S } from '#base/units.ts';
import type { RequestLimits } from '#queueing/continuous/request-limits.ts';
import { LatencyHistogram, type PackedHistogram } from '#stats/histogram.ts';
import { isWithin } from './request-limits.ts';
import type { TokenCounter, TokenReply } from './token-reply.ts';

const times = ['ttft', 'ttftFromDue', 'itl', 'tpot'] as const;
type Time = (typeof times)[number];

/** Lengths in tokens: plain sums, for means and deviations. */
export interface LengthSums {
  readonly count: number;
  readonly sum: number;
  readonly squares: number;
  readonly min: number;
  readonly max: number;
}

/** Sums over replies. */
interface Sums {
  readonly input: LengthSums;
  readonly output: LengthSums;
  /** Input tokens found in the server's prefix cache, over the replies that report them. */
  readonly cachedTokens: number;
  readonly cachedAmong: number;
  /**
   * Sum of the output tokens per second that each user saw while tokens arrived, and the number of
   * replies with that figure.
   */
  readonly userRates: number;
  readonly users: number;
  /** Replies by how their tokens were counted. */
  readonly countedBy: Readonly<Record<TokenCounter, number>>;
}

/** The streamed replies of a batch. `ttftFromDue` is empty in a closed loop. */
export type TokenTally = Sums & Readonly<Record<Time, LatencyHistogram>>;

/** The same in a form that can be sent between threads. */
export type PackedTokenTally = Sums & Readonly<Record<Time, PackedHistogram>>;

/** Counts replies as they arrive; a reply takes no memory. */
export class TokenCount implements TokenTally {
  readonly ttft = new LatencyHistogram();
  readonly ttftFromDue = new LatencyHistogram();
  readonly itl = new LatencyHistogram();
  readonly tpot = new LatencyHistogram();
  readonly input = newLengths();
  readonly output = newLengths();
  readonly countedBy = { usage: 0, tokenizer: 0, pieces: 0 };
  cachedTokens = 0;
  cachedAmong = 0;
  userRates = 0;
  users = 0;

  /**
   * Counts a reply; returns true if it meets the limits. `latencyNs`: of the whole reply, from its
   * sending. `fromDueNs`: from its due time, if it had one; TTFT and the end then count from there.
   * A reply of one token, and one that comes whole, meets any limit on ITL and TPOT.
   */
  add(reply: TokenReply, latencyNs: number, fromDueNs: number | undefined, limits: RequestLimits | undefined): boolean {
    const { firstNs, gapsNs, inputTokens, outputTokens, cachedTokens } = reply;
    const waitedNs = fromDueNs === undefined ? 0 : fromDueNs - latencyNs;
    // All tokens of a reply that comes whole are seen at its end.
    const seenFirstNs = firstNs ?? latencyNs;
    this.ttft.record(seenFirstNs);
    if (fromDueNs !== undefined) this.ttftFromDue.record(seenFirstNs + waitedNs);
    let longestNs = 0;
    for (const gapNs of gapsNs) {
      this.itl.record(gapNs);
      if (gapNs > longestNs) longestNs = gapNs;
    }
    const tpotNs = firstNs !== null && outputTokens > 1 ? (latencyNs - firstNs) / (outputTokens - 1) : undefined;
    if (tpotNs !== undefined) this.tpot.record(tpotNs);
    if (tpotNs !== undefined && tpotNs > 0) {
      this.userRates += NS_PER_S / tpotNs;
      this.users++;
    }
    addLength(this.input, inputTokens);
    addLength(this.output, outputTokens);
    if (cachedTokens !== undefined) {
      this.cachedTokens += cachedTokens;
      this.cachedAmong += inputTokens;
    }
    this.countedBy[reply.countedBy]++;
    const seen = { ttftNs: seenFirstNs + waitedNs, itlNs: longestNs, tpotNs: tpotNs ?? 0, e2eNs: latencyNs + waitedNs };
    return limits === undefined || isWithin(seen, limits);
  }

  /** Adds all replies of the other tally. */
  merge(other: TokenTally): void {
    for (const time of times) this[time].merge(other[time]);
    mergeLengths(this.input, other.input);
    mergeLengths(this.output, other.output);
    for (const sum of ['cachedTokens', 'cachedAmong', 'userRates', 'users'] as const) this[sum] += other[sum];
    for (const counter of ['usage', 'tokenizer', 'pieces'] as const)
      this.countedBy[counter] += other.countedBy[counter];
  }

  /** Empties the counts and keeps the memory. */
  reset(): void {
    for (const time of times) if (this[time].count > 0) this[time].reset();
    Object.assign(this.input, newLengths());
    Object.assign(this.output, newLengths());
    Object.assign(this.countedBy, { usage: 0, tokenizer: 0, pieces: 0 });
    Object.assign(this, { cachedTokens: 0, cachedAmong: 0, userRates: 0, users: 0 });
  }
}

type Lengths = { -readonly [K in keyof LengthSums]: LengthSums[K] };

const newLengths = (): Lengths => ({ count: 0, sum: 0, squares: 0, min: Number.POSITIVE_INFINITY, max: 0 });

function addLength(lengths: Lengths, tokens: number): void {
  lengths.count++;
  lengths.sum += tokens;
  lengths.squares += tokens * tokens;
  if (tokens < lengths.min) lengths.min = tokens;
  if (tokens > lengths.max) lengths.max = tokens;
}

function mergeLengths(into: Lengths, other: LengthSums): void {
  into.count += other.count;
  into.sum += other.sum;
  into.squares += other.squares;
  into.min = Math.min(into.min, other.min);
  into.max = Math.max(into.max, other.max);
}

const withTimes = <From, To>(
  tally: Sums & Readonly<Record<Time, From>>,
  change: (time: From) => To,
): Sums & Readonly<Record<Time, To>> => ({
  ttft: change(tally.ttft),
  ttftFromDue: change(tally.ttftFromDue),
  itl: change(tally.itl),
  tpot: change(tally.tpot),
  input: tally.input,
  output: tally.output,
  cachedTokens: tally.cachedTokens,
  cachedAmong: tally.cachedAmong,
  userRates: tally.userRates,
  users: tally.users,
  countedBy: tally.countedBy,
});

/** Packs the non-empty buckets; those of `listBuffers` may be transferred. */
export const packTokens = (tally: TokenTally): PackedTokenTally => withTimes(tally, (time) => time.pack());

export const unpackTokens = (packed: PackedTokenTally): TokenTally =>
  withTimes(packed, (time) => LatencyHistogram.unpack(time));

export const listBuffers = (packed: PackedTokenTally): readonly ArrayBuffer[] =>
  times.map((time) => packed[time].cells.buffer);

/** Returns the replies of all batches together; undefined if no batch has any. */
export function allTokens(batches: readonly { readonly tokens?: TokenTally }[]): TokenTally | undefined {
  const [first, ...others] = batches.flatMap(({ tokens }) => tokens ?? []);
  if (first === undefined || others.length === 0) return first;
  const whole = new TokenCount();
  for (const each of [first, ...others]) whole.merge(each);
  return whole;
}
