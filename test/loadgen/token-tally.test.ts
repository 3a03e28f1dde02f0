import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Batch, Recorder } from '#loadgen/recorder.ts';
import type { TokenReply } from '#loadgen/token-reply.ts';
import { allTokens, packTokens, TokenCount, unpackTokens } from '#loadgen/token-tally.ts';
import type { RequestLimits } from '#queueing/continuous/request-limits.ts';
import type { LatencyHistogram } from '#stats/histogram.ts';

const MS = 1e6;

const reply = (more: Partial<TokenReply> = {}): TokenReply => ({
  firstNs: 10 * MS,
  gapsNs: [2 * MS, 6 * MS],
  inputTokens: 100,
  outputTokens: 5,
  countedBy: 'usage',
  ...more,
});

interface Told {
  readonly reply: TokenReply;
  readonly latencyNs: number;
  readonly waitedNs: number | null;
}

const told = fc.record({
  reply: fc.record({
    firstNs: fc.integer({ min: 1, max: 1e9 }),
    gapsNs: fc.array(fc.integer({ min: 0, max: 1e8 }), { maxLength: 8 }),
    inputTokens: fc.nat(5000),
    outputTokens: fc.integer({ min: 1, max: 500 }),
    countedBy: fc.constantFrom('usage' as const, 'pieces' as const, 'tokenizer' as const),
    cachedTokens: fc.option(fc.nat(50), { nil: undefined }),
  }),
  latencyNs: fc.integer({ min: 1e9, max: 5e9 }),
  waitedNs: fc.option(fc.nat(1e6)),
});

const limits: RequestLimits = { ttftNs: 5e8, itlNs: 5e7, tpotNs: 1e7, e2eNs: 3e9 };

function counted(all: readonly Told[]): TokenCount {
  const count = new TokenCount();
  for (const { reply: each, latencyNs, waitedNs } of all) {
    count.add(each as TokenReply, latencyNs, waitedNs === null ? undefined : latencyNs + waitedNs, limits);
  }
  return count;
}

const cells = (histogram: LatencyHistogram): object => {
  const { cells: packed, ...about } = histogram.pack();
  return { cells: [...packed], count: histogram.count, sumNs: Math.round(about.sumNs) };
};
const plain = ({ ttft, ttftFromDue, itl, tpot, userRates, ...sums }: ReturnType<typeof unpackTokens>) => ({
  ...sums,
  userRates: Math.round(userRates * 1e3),
  times: [ttft, ttftFromDue, itl, tpot].map(cells),
});

describe('a tally of tokens', () => {
  it('is the same of all replies together and of parts that were packed, sent and merged', () => {
    const lists = fc.array(fc.array(told, { maxLength: 12 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(lists, (parts) => {
        const whole = counted(parts.flat() as readonly Told[]);
        const merged = allTokens(
          parts.map((part) => ({
            tokens: unpackTokens(structuredClone(packTokens(counted(part as readonly Told[])))),
          })),
        );
        const { input, output, ...other } = plain({ ...whole });
        expect(plain({ ...(merged as TokenCount) })).toEqual({ input, output, ...other });
      }),
      { numRuns: 100 },
    );
  });

  it('is empty again after a reset', () => {
    const count = counted([{ reply: reply({ cachedTokens: 3 }), latencyNs: 1e9, waitedNs: 5 }]);
    count.reset();
    expect(plain({ ...count })).toEqual(plain({ ...new TokenCount() }));
  });

  it('takes TPOT by the tokens and not by the pieces, and none of a reply of one token', () => {
    const count = new TokenCount();
    count.add(reply(), 50 * MS, undefined, undefined);
    count.add(reply({ outputTokens: 1, gapsNs: [] }), 10 * MS, undefined, undefined);
    expect([count.tpot.count, count.tpot.maxNs]).toEqual([1, 10 * MS]);
    expect([count.itl.count, count.ttft.count]).toEqual([2, 2]);
    expect([count.users, count.userRates]).toEqual([1, 100]);
  });

  it.each([
    ['nothing', {}, true],
    ['the first token', { ttftNs: 9 * MS }, false],
    ['the first token, as it is', { ttftNs: 10 * MS }, true],
    ['the longest gap', { itlNs: 5 * MS }, false],
    ['the mean gap', { tpotNs: 11 * MS }, true],
    ['the mean gap, too narrowly', { tpotNs: 9 * MS }, false],
    ['the whole', { e2eNs: 49 * MS }, false],
    ['all of them, of which one is missed', { ttftNs: 20 * MS, itlNs: 20 * MS, e2eNs: 49 * MS }, false],
  ] as const)('counts a reply as good that keeps limits on %s', (_, given, good) => {
    expect(new TokenCount().add(reply(), 50 * MS, undefined, given)).toBe(good);
  });

  it('holds limits against the time due, where there is one', () => {
    const count = new TokenCount();
    const given = [{ ttftNs: 14 * MS }, { e2eNs: 54 * MS }, { ttftNs: 15 * MS, e2eNs: 55 * MS, tpotNs: 10 * MS }];
    expect(given.map((each) => count.add(reply(), 50 * MS, 55 * MS, each))).toEqual([false, false, true]);
    expect(count.ttftFromDue.minNs).toBe(15 * MS);
    expect(count.ttft.maxNs).toBe(10 * MS);
  });
});

describe('a recorder of streamed replies', () => {
  it.each([false, true])('tells each batch its own replies, with its memory used again: %s', (reuses) => {
    const recorder = new Recorder({ reuses, limits: { ttftNs: 5 * MS } });
    const seen: (readonly number[])[] = [];
    const take = ({ tokens, succeeded, good }: Batch): unknown =>
      seen.push([succeeded, tokens?.output.sum ?? 0, tokens?.itl.count ?? 0, good ?? 0]);
    recorder.start({ lengthNs: 100, minRequests: 1 }, take, 0);
    const record = (atNs: number, firstNs: number): void =>
      recorder.record(atNs, 50 * MS, { ok: true, tokens: reply({ firstNs }) });
    record(10, MS);
    record(120, 9 * MS);
    recorder.record(250, 50, { ok: true });
    record(380, MS);
    record(400, MS);
    record(510, MS);
    expect(seen).toEqual([
      [2, 10, 4, 1],
      [1, 0, 0, 1],
      [1, 5, 2, 1],
      [2, 10, 4, 2],
    ]);
  });

  it('counts a reply that was cut off as failed, and none of its tokens', () => {
    const recorder = new Recorder();
    const batches: Batch[] = [];
    recorder.start({ lengthNs: 100, minRequests: 1 }, (batch) => batches.push(batch), 0);
    recorder.record(50, 10, { ok: false, kind: 'cut-off', message: 'the connection was closed' });
    recorder.record(120, 50 * MS, { ok: true, tokens: reply() });
    const failures = [{ kind: 'cut-off', count: 1, firstMessage: 'the connection was closed' }];
    expect(batches[0]).toMatchObject({ succeeded: 1, failed: 1, failures, tokens: { output: { count: 1 } } });
  });
});
