import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { computePiece, computeShare, type Part } from '#loadgen/paced-part.ts';
import { createPacer, dealt, limited, type Schedule } from '#loadgen/pacers.ts';
import { requestCycle } from '#loadgen/request-turns.ts';
import { partOfRule } from '#loadgen/sequences.ts';
import type { InferRequest, PreparedRequest, Transport } from '#loadgen/types.ts';

const threads = fc.integer({ min: 1, max: 9 });
const partsOf = (of: number): Part[] => Array.from({ length: of }, (_, index) => ({ index, of }));

describe('a level that several threads divide', () => {
  it('is divided exactly and evenly, the larger shares first', () => {
    expect(partsOf(4).map((part) => computeShare(10, part))).toEqual([3, 3, 2, 2]);
    fc.assert(
      fc.property(fc.nat(10_000), threads, (total, of) => {
        const shares = partsOf(of).map((part) => computeShare(total, part));
        expect(shares.reduce((sum, share) => sum + share)).toBe(total);
        expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('gives each sequence ids of its own, at least as many as its share of requests in flight', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.nat(100), fc.nat(100), threads, (low, size, spare, of) => {
        const ids = { low, high: low + size + spare };
        const rules = partsOf(of).map((part) => partOfRule({ ids, variation: 0, seed: 5 }, part));
        const all = rules.flatMap((rule) =>
          Array.from({ length: rule.ids.high - rule.ids.low + 1 }, (_, index) => rule.ids.low + index),
        );
        expect(all).toEqual(Array.from({ length: size + spare + 1 }, (_, index) => low + index));
        for (const part of partsOf(of)) {
          const piece = computePiece(ids, part);
          expect(piece.high - piece.low + 1).toBeGreaterThanOrEqual(computeShare(size + 1, part));
        }
        expect(new Set(rules.map((rule) => rule.seed)).size).toBe(of);
      }),
    );
  });
});

describe('a schedule that is dealt out', () => {
  const schedules: Schedule[] = [
    { kind: 'constant', perSecond: 300 },
    { kind: 'poisson', perSecond: 300, seed: 8 },
    { kind: 'intervals', gapsNs: [1e6, 0, 5e6] },
    { kind: 'ramp', fromPerSecond: 10, toPerSecond: 500, overNs: 3e8 },
    { kind: 'bursts', size: 7, periodNs: 1e7 },
    { kind: 'replay', arrivalsNs: [3, 4, 4, 9, 100, 101, 250], speed: 0.5 },
    { kind: 'poisson', perSecond: 90, seed: 1, limit: { requests: 31, durationNs: 4e8 } },
  ];

  /** Every request until `requests` or the end, with its time. */
  function timesOf(schedule: Schedule, requests: number, part?: Part): [number, number][] {
    const whole = limited(createPacer(schedule), { requests });
    const pacer = part ? dealt(whole, part) : whole;
    const times: [number, number][] = [];
    for (let sent = 0; ; sent++) {
      const next = pacer(0, sent);
      if (next === 'stop') return times;
      times.push([part ? sent * part.of + part.index : sent, next.waitNs]);
    }
  }

  it.each(schedules)('loses nothing, adds nothing and moves nothing: $kind', (schedule) => {
    for (const of of [1, 2, 3, 8]) {
      const dealtOut = partsOf(of).flatMap((part) => timesOf(schedule, 100, part));
      expect(dealtOut.sort(([a], [b]) => a - b)).toEqual(timesOf(schedule, 100));
    }
    expect(timesOf(schedule, 100).length).toBeGreaterThan(5);
  });
});

describe('a cycle of requests that is dealt out', () => {
  it('gives the parts together what one gives', () => {
    const transport: Transport = {
      prepare: (request) => ({ request }),
      send: () => undefined,
      close: async () => undefined,
    };
    const model = { model: 'm', version: '', batch: 1 };
    for (const [count, of] of [
      [1, 3],
      [4, 2],
      [6, 4],
      [5, 3],
    ] as const) {
      const requests: InferRequest[] = Array.from({ length: count }, () => ({ ...model, inputs: [] }));
      const nexts = partsOf(of).map((part) => requestCycle(transport, { ...model, requests }, part));
      const dealtOut = Array.from({ length: 5 }, () => nexts.map((next) => next())).flat();
      expect(dealtOut.map((prepared: PreparedRequest) => requests.indexOf(prepared.request))).toEqual(
        Array.from({ length: 5 * of }, (_, index) => index % count),
      );
    }
  });
});
