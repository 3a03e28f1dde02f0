import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seededRandom, standardNormal } from '#base/random.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { toSpec } from '#spec/spec-of-options.ts';
import { decideNow, isFinalOver, medianByPrecision, nextFinal, representative } from '#study/final/final.ts';
import { RECOMMENDED_CHANCE } from '#study/level-chances.ts';
import { chooseLevels } from '#study/recommended.ts';
import { foldStudy } from '#study/records/fold.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { type EstimateSpeeds, fitSpeeds, steadySpeeds } from '#study/speed/speeds.ts';
import { summarize } from '#study/summary/summary.ts';
import { goalOf, measured } from './builders.ts';
import {
  BUDGET_MS,
  decided,
  flat,
  type Law,
  lawful,
  type Played,
  playFinal,
  readingOf,
  type Searched,
  type Study,
  saturating,
  searchedStudy,
  type Turn,
  trialOfNumber,
  turnsOf,
  visitsOf,
} from './played-final.ts';

/** Serves 200/s and keeps 10 ms up to 2 requests in flight. */
const slow = saturating({ aloneMs: 5, most: 200 });
/** Serves 600/s and keeps 10 ms up to 6. */
const fast = saturating({ aloneMs: 4, most: 600 });
const original: Searched = { law: slow, levels: [1, 2, 4] };
const fastOne: Searched = { law: fast, levels: [4, 6, 8] };
/** The search saw it far within the budget, by luck. */
const lucky: Searched = { law: flat(900, 40), levels: [4, 8, 16], luck: 0.2 };

/** Latencies of the reading are so many times as long. */
function later(measurement: Measurement, times: number): Measurement {
  const { latencyMs, budgetLatencyMs: budgeted } = measurement;
  return {
    ...measurement,
    latencyMs: { ...latencyMs, avg: times * latencyMs.avg, p99: times * latencyMs.p99 },
    budgetLatencyMs: {
      ...budgeted,
      value: times * budgeted.value,
      low: times * budgeted.low,
      high: times * budgeted.high,
    },
  };
}

const clientBound = (measurement: Measurement): Measurement => ({
  ...measurement,
  client: { ...measurement.client, bound: true, reason: 'its CPU was busy 97 % of the time' },
});

/** Readings by the laws, with noise that the seed draws. */
function noisy(study: Study, seed: number, sd: { readonly throughput: number; readonly latency: number }) {
  const random = seededRandom(seed);
  return (turn: Turn): Measurement => {
    const exact = lawful(study, turn);
    const factor = Math.exp(sd.throughput * standardNormal(random));
    const { value, low, high } = exact.throughput;
    const throughput = { value: value * factor, low: low * factor, high: high * factor };
    return later({ ...exact, throughput }, Math.exp(sd.latency * standardNormal(random)));
  };
}

/** What is recommended by everything that was read of the trial. */
function recommendedOf({ records }: Played, number: number) {
  const { trials, finals, goal, started } = foldStudy(records);
  const { measurements, candidate } = trialOfNumber(trials, number);
  const own = finals.filter(({ trial }) => trial === number).map(({ measurement }) => measurement);
  return chooseLevels([...measurements, ...own], candidate, goal, started.levels);
}

function lastLevel(played: Played, trial: number): number {
  const level = visitsOf(played, trial).at(-1)?.at(-1);
  if (level === undefined) throw new Error(`trial ${trial} was not measured`);
  return level;
}

/** The records up to so many measurements of the final. */
const cutAfter = ({ records }: Played, measurements: number): readonly StudyRecord[] => {
  let left = measurements;
  return records.filter((record) => record.type !== 'final-measured' || left-- > 0);
};

describe('the final', () => {
  it('measures the original and the best in turn, there and back, and tells the gain', () => {
    const played = playFinal({ original, rivals: [fastOne] });
    expect(turnsOf(played)).toEqual([
      [0, 1],
      [1, 0],
    ]);
    expect(played.decision?.best).toBe(1);
    expect(played.decision?.gain?.value).toBeCloseTo(3, 2);
    expect(played.decision?.gain?.low).toBeGreaterThan(2.8);
  });

  it('plays as many rounds as are planned at least, and none where none are', () => {
    expect(turnsOf(playFinal({ original, rivals: [fastOne] }, { rounds: 4 })).length).toBeGreaterThanOrEqual(4);
    const before = foldStudy(searchedStudy({ original, rivals: [fastOne] }));
    expect(nextFinal(before, 0)).toBeNull();
    expect(isFinalOver(before, 0)).toBe(true);
  });

  it('has nothing to compare where the original config is the best of the search', () => {
    expect(nextFinal(foldStudy(searchedStudy({ original: fastOne, rivals: [original] })), 2)).toBeNull();
  });

  it('is decided for the original config at once where the best of the search promises less than it could tell', () => {
    const rivalServing = (most: number): Study => ({
      original,
      rivals: [{ ...original, law: saturating({ aloneMs: 1000 / most, most }) }],
    });
    const hardly = searchedStudy(rivalServing(202));
    const step = nextFinal(foldStudy(hardly), 2);
    expect(step).toEqual({
      kind: 'decide',
      decision: {
        best: 0,
        gain: { value: 1, low: 1, high: 1 },
        verdict: 'nothing-better',
        rejected: { trial: 1, gain: null, reason: expect.stringContaining('too little') },
      },
    });
    expect(isFinalOver(foldStudy(hardly), 2)).toBe(true);
    const played = playFinal(rivalServing(202));
    expect(summarize(decided(played), 'journal.jsonl')).toMatchObject({ best: { trial: 0 }, rejected: { trial: 1 } });
    expect(nextFinal(foldStudy(searchedStudy(rivalServing(220))), 2)).toMatchObject({ kind: 'measure' });
  });

  it('is over with the last measurement that it asks for, not before', () => {
    const played = playFinal({ original, rivals: [fastOne] });
    const all = played.records.filter(({ type }) => type === 'final-measured').length;
    for (let made = 0; made < all; made++)
      expect(isFinalOver(foldStudy(cutAfter(played, made)), 2), `after ${made}`).toBe(false);
    expect(isFinalOver(foldStudy(played.records), 2)).toBe(true);
  });

  it('says what the round has still to measure, in their order', () => {
    const close = { ...fastOne, doubt: 0.2 };
    const opening = nextFinal(foldStudy(searchedStudy({ original, rivals: [close, close] })), 2);
    expect(opening).toMatchObject({ kind: 'measure', trial: { number: 0 }, round: 1, rest: [1, 2], opensRound: true });
  });

  it('plays on until a gain that may be none is known better, but not for ever', () => {
    const study: Study = { original, rivals: [{ ...original, law: saturating({ aloneMs: 4.6, most: 220 }) }] };
    const rounds = (spread: number) => {
      const read = (turn: Turn): Measurement => {
        const measurement = lawful(study, turn);
        const { value } = measurement.throughput;
        const factor = turn.trial === 1 && turn.round % 2 === 0 ? spread : 1;
        return { ...measurement, throughput: { value: value * factor, low: value * factor, high: value * factor } };
      };
      return turnsOf(playFinal(study, { read, estimateSpeeds: steadySpeeds })).length;
    };
    expect(rounds(1)).toBe(2);
    expect(rounds(1.3)).toBeGreaterThan(2);
    expect(rounds(1.3)).toBeLessThanOrEqual(6);
  });

  describe('whatever it measures', () => {
    const rivals = [
      fastOne,
      { ...fastOne, doubt: 0.2 },
      { law: saturating({ aloneMs: 3, most: 400 }), levels: [2, 4] },
    ];
    /**
     * Three times the planned rounds, three measurements of each side in each of them, and void
     * rounds.
     */
    const most = 3 * 2 * (1 + rivals.length) * 3 + 5;
    const drawn = fc.infiniteStream(
      fc.record({
        throughput: fc.oneof({ weight: 9, arbitrary: fc.double({ min: 0.1, max: 900, noNaN: true }) }, fc.constant(0)),
        p99Ms: fc.double({ min: 0.5, max: 40, noNaN: true }),
        bound: fc.boolean(),
      }),
    );
    type Drawn = Iterator<{ readonly throughput: number; readonly p99Ms: number; readonly bound: boolean }>;

    function play(stream: Drawn, estimateSpeeds: EstimateSpeeds): Played {
      const read = ({ level }: Turn): Measurement => {
        const { throughput, p99Ms, bound } = stream.next().value;
        const measurement = readingOf(flat(throughput, p99Ms), level);
        return bound ? clientBound(measurement) : measurement;
      };
      return playFinal({ original, rivals }, { read, most, estimateSpeeds });
    }

    it('ends, at levels of the range, with three measurements a visit at most', () => {
      fc.assert(
        fc.property(drawn, (stream) => {
          const { visits, records, decision } = play(stream, steadySpeeds);
          const { low, high } = foldStudy(records.slice(0, 1)).started.levels;
          for (const { levels } of visits) {
            expect(levels.length).toBeLessThanOrEqual(3);
            for (const level of levels) expect(level >= low && level <= high, `level ${level}`).toBe(true);
          }
          expect([0, 1, 2, 3]).toContain(decision?.best);
        }),
      );
    }, 180_000);

    it('decides the same from its journal', () => {
      fc.assert(
        fc.property(drawn, (stream) => {
          const { records, decision } = play(stream, fitSpeeds);
          const journal = JSON.parse(JSON.stringify(records)) as StudyRecord[];
          // Where nothing is left to compare there is no final, and no decision.
          expect(nextFinal(foldStudy(journal), 2)).toEqual(decision && { kind: 'decide', decision });
        }),
        { numRuns: 6 },
      );
    }, 180_000);
  });
});

describe('a visit', () => {
  it('goes on at another level while what was read last moves the recommended one', () => {
    // The search saw it at 8 with a p99 of 9.3 ms, where it takes 13.3.
    const played = playFinal({ original, rivals: [{ law: fast, levels: [8], luck: 0.7 }] });
    const [first] = visitsOf(played, 1);
    expect(first?.[0]).toBe(8);
    expect(first?.length).toBeGreaterThan(1);
    expect(fast.p99Ms(first?.at(-1) as number)).toBeLessThanOrEqual(BUDGET_MS);
    expect(played.decision?.best).toBe(1);
  });

  it('is of one measurement where that says what was known', () => {
    const played = playFinal({ original, rivals: [fastOne] });
    expect(visitsOf(played, 1).map(({ length }) => length)).toEqual([1, 1]);
  });

  it('has three measurements at most, and the next one goes on from there', () => {
    // At the level that the search knows it takes a fifth of the budget.
    const roomy: Law = { throughput: (level) => 300 * level ** 0.5, p99Ms: (level) => 0.5 * level };
    const visits = visitsOf(playFinal({ original, rivals: [{ law: roomy, levels: [4] }] }), 1);
    expect(Math.max(...visits.map(({ length }) => length))).toBe(3);
    const levels = visits.flat();
    expect(levels, 'each is above the one before').toEqual([...new Set(levels)].sort((a, b) => a - b));
    expect(levels.at(-1)).toBeGreaterThan(2 * 4);
  });

  it('ends at about the highest level that holds with a chance of 90 %, or at one below that serves as much', () => {
    for (const law of [fast, saturating({ aloneMs: 3, most: 2000 }), saturating({ aloneMs: 8, most: 4000 })]) {
      const edge = Math.floor((BUDGET_MS * law.throughput(64)) / 1000);
      const study = { original, rivals: [{ law, levels: [edge >> 1, edge - 1, edge + 2] }] };
      const played = playFinal(study);
      const { curve, recommended } = recommendedOf(played, 1);
      if (!curve || recommended === null) throw new Error('no level is recommended');
      expect(curve.chance(recommended)).toBeGreaterThanOrEqual(RECOMMENDED_CHANCE - 0.02);
      const highest = curve.highest(RECOMMENDED_CHANCE) as number;
      const more = curve.throughput(highest).mean - curve.throughput(recommended).mean;
      expect(more, 'higher levels serve no more').toBeLessThan(0.03);
      for (let level = highest + 1; level <= edge + 2; level++)
        expect(curve.chance(level), `at ${level}`).toBeLessThan(RECOMMENDED_CHANCE);
      const served = law.throughput(lastLevel(played, 1)) / law.throughput(recommended);
      expect(Math.abs(Math.log(served))).toBeLessThan(0.05);
      expect(law.p99Ms(recommended)).toBeLessThanOrEqual(BUDGET_MS);
    }
  });

  it('comes to a level that truly keeps the budget in at least eight of ten noisy finals, and serves nearly as much as can be', () => {
    const law: Law = { throughput: (level) => 100 * level ** 0.6, p99Ms: (level) => 0.9 * level ** 0.9 };
    const edge = (BUDGET_MS / 0.9) ** (1 / 0.9);
    const outcomes = Array.from({ length: 60 }, (_, seed) => {
      const study: Study = { original, rivals: [{ law, levels: [8, 14, 18] }] };
      const played = playFinal(study, { read: noisy(study, seed, { throughput: 0.02, latency: 0.08 }) });
      const stands = representative(decided(played), trialOfNumber(decided(played).trials, 1));
      return { level: stands?.measurement.level.value ?? 0, isFeasible: stands?.feasible === true };
    });
    const feasible = outcomes.filter(({ isFeasible }) => isFeasible);
    expect(feasible.length).toBeGreaterThanOrEqual(57);
    const kept = feasible.filter(({ level }) => level <= edge);
    expect(kept.length / feasible.length).toBeGreaterThanOrEqual(0.8);
    const shares = feasible.map(({ level }) => law.throughput(Math.min(level, edge)) / law.throughput(edge));
    expect(shares.reduce((sum, share) => sum + share, 0) / shares.length).toBeGreaterThan(0.88);
  });
});

describe('finalists', () => {
  it('are two where the second is about as good as the first and both are little known, else one', () => {
    const opening = (doubt: number) => {
      const rivals = [600, 590, 580].map((most) => ({
        law: saturating({ aloneMs: 4, most }),
        levels: [4, 5, 6],
        doubt,
      }));
      return turnsOf(playFinal({ original, rivals }))[0];
    };
    expect(opening(0.2)).toHaveLength(3);
    expect(opening(0.2)?.[0]).toBe(0);
    expect(opening(0.005)).toEqual([0, 1]);
  });

  it('are those that kept the budget before those whose curves promise more without having kept it', () => {
    // At half of these levels it would serve three times less than its line says.
    const steep: Law = { throughput: (level) => 4 * level ** 2, p99Ms: (level) => level };
    const rivals = [14, 15, 16].map((level): Searched => ({ law: steep, levels: [level] }));
    const played = playFinal({ original, rivals: [...rivals, fastOne] });
    expect(turnsOf(played)[0]?.slice(0, 2)).toEqual([0, 4]);
    expect(played.decision?.best).toBe(4);
  });

  it('that hold at no level are out, and the next best of the search comes in', () => {
    const played = playFinal({ original, rivals: [lucky, fastOne] });
    expect(turnsOf(played)[0]).toEqual([0, 1]);
    expect(visitsOf(played, 2).length).toBeGreaterThanOrEqual(2);
    expect(turnsOf(played).at(-1)).not.toContain(1);
    expect(played.decision?.best).toBe(2);
    expect(played.decision?.gain?.value).toBeCloseTo(3, 1);
  });

  it('that others beat beyond doubt are out after two rounds', () => {
    const rivals = [620, 610].map((most) => ({ law: saturating({ aloneMs: 4, most }), levels: [4, 5, 6], doubt: 0.2 }));
    const worse = saturating({ aloneMs: 4, most: 450 });
    const played = playFinal(
      { original, rivals },
      {
        rounds: 3,
        read: (turn) => (turn.trial === 1 ? readingOf(worse, turn.level) : lawful({ original, rivals }, turn)),
      },
    );
    expect(turnsOf(played).map((turns) => turns.includes(1))).toEqual([true, true, false]);
    expect(turnsOf(played).every((turns) => turns.includes(2))).toBe(true);
    expect(played.decision?.best).toBe(2);
  });

  it('are measured in their turn though the original config has read better than they did before', () => {
    const better = saturating({ aloneMs: 3, most: 900 });
    const study: Study = { original, rivals: [{ law: saturating({ aloneMs: 4, most: 260 }), levels: [2] }] };
    const played = playFinal(study, {
      read: (turn) => (turn.trial === 0 ? readingOf(better, turn.level) : lawful(study, turn)),
    });
    expect(turnsOf(played)[0]).toEqual([0, 1]);
    expect(played.decision).toMatchObject({ best: 0, rejected: { trial: 1, reason: /not better/ } });
  });

  it('are looked at again at the level that earlier late readings have sent them to', () => {
    // Four times as late in its second visit, by nobody's doing but its own luck.
    const study: Study = { original, rivals: [fastOne] };
    const read = (turn: Turn) => later(lawful(study, turn), turn.trial === 1 && turn.round === 2 ? 4 : 1);
    const { decision } = playFinal(study, { read });
    expect(decision?.best, 'it kept the budget in all visits but one').toBe(1);
  });
});

describe('a round', () => {
  const study: Study = { original, rivals: [fastOne] };
  /**
   * The machine is so many times as slow from one measurement of the final on, for some of them.
   */
  const stalled = (from: number, until: number, times = 4) => ({
    read: (turn: Turn) => later(lawful(study, turn), turn.before >= from && turn.before < until ? times : 1),
  });

  it('in which one missed the goal and the original config was far slower does not count, and is played again', () => {
    const played = playFinal(study, stalled(2, 4));
    expect(played.voided).toEqual([{ round: 2, slower: expect.closeTo(4, 1) }]);
    const { finals, voidRounds } = foldStudy(played.records);
    expect(voidRounds).toBe(1);
    expect(finals.some(({ measurement }) => measurement.latencyMs.p99 > 15)).toBe(false);
    expect(played.decision?.best).toBe(1);
    expect(played.decision?.gain?.value).toBeCloseTo(3, 1);
  });

  it('counts where nobody missed the goal', () => {
    // The original config alone is slower, and at 7 ms within the budget.
    const read = (turn: Turn): Measurement => {
      const measurement = lawful(study, turn);
      if (turn.trial === 1 || turn.round === 1) return measurement;
      return { ...measurement, latencyMs: { ...measurement.latencyMs, avg: 2 * measurement.latencyMs.avg } };
    };
    const { voided, decision } = playFinal(study, { read });
    expect(voided).toEqual([]);
    expect(decision?.best).toBe(1);
  });

  it('counts in the end where the machine stays slow', () => {
    const { voided, decision } = playFinal(study, stalled(2, Number.POSITIVE_INFINITY));
    expect(voided.length).toBeGreaterThan(1);
    expect(voided.length).toBeLessThanOrEqual(5);
    expect(decision).not.toBeNull();
  });
});

describe('the decision', () => {
  it('takes the finalist that serves most within the budget', () => {
    const rivals = [600, 590].map((most) => ({ law: saturating({ aloneMs: 4, most }), levels: [4, 5, 6], doubt: 0.3 }));
    const much = saturating({ aloneMs: 4, most: 700 });
    const study = { original, rivals };
    const winnerIs = (better: number) =>
      playFinal(study, { read: (turn) => (turn.trial === better ? readingOf(much, turn.level) : lawful(study, turn)) })
        .decision?.best;
    expect([winnerIs(1), winnerIs(2)]).toEqual([1, 2]);
  });

  it('is the original config where nothing beats it', () => {
    const study: Study = {
      original: { law: saturating({ aloneMs: 5, most: 400 }), levels: [2, 3, 4] },
      rivals: [{ law: saturating({ aloneMs: 5, most: 440 }), levels: [2, 3, 4], doubt: 0.2 }],
    };
    const worse = saturating({ aloneMs: 5, most: 300 });
    const read = (turn: Turn) => (turn.trial === 1 ? readingOf(worse, turn.level) : lawful(study, turn));
    expect(playFinal(study, { read }).decision).toMatchObject({
      best: 0,
      gain: { value: 1, low: 1, high: 1 },
      rejected: { trial: 1, reason: expect.stringContaining('not better') },
    });
  });

  it('is the original config where the finalist keeps the budget nowhere, with the reason', () => {
    const played = playFinal({ original, rivals: [lucky] });
    expect(played.decision).toMatchObject({
      best: 0,
      rejected: { trial: 1, reason: expect.stringContaining('missed the goal') },
    });
    expect(summarize(decided(played), 'journal.jsonl')).toMatchObject({ feasible: true, best: { trial: 0 } });
  });

  it('is the simplest of equals, and the better one of others', () => {
    const rivalAt = (most: number): Searched => ({ law: saturating({ aloneMs: 4, most }), levels: [4, 6, 8] });
    // The second rival has an instance more than the first.
    const decisionFor = (first: number, second: number) =>
      playFinal({ original, rivals: [rivalAt(first), rivalAt(second)] }).decision;
    expect(decisionFor(600, 603)).toMatchObject({ best: 1, verdict: 'better' });
    expect(decisionFor(600, 660)).toMatchObject({ best: 2, verdict: 'better' });
    expect(decisionFor(603, 600)).toMatchObject({ best: 1, verdict: 'better' });
  });

  it('lets the simplest of equals into the final', () => {
    const rivals = [600, 596, 601, 602].map(
      (most): Searched => ({ law: saturating({ aloneMs: 4, most }), levels: [4, 6, 8], doubt: 0.05 }),
    );
    const played = playFinal({ original, rivals });
    expect(turnsOf(played)[0]).toContain(1);
    expect(played.decision?.best).toBe(1);
  });

  it('is the original config where the gain may be none, or is below the least one wanted', () => {
    const study: Study = {
      original,
      rivals: [{ law: saturating({ aloneMs: 4.6, most: 217 }), levels: [1, 2], doubt: 0.05 }],
    };
    const read = (turn: Turn): Measurement => {
      const measurement = lawful(study, turn);
      const { value } = measurement.throughput;
      const factor = turn.trial === 1 && turn.round === 2 ? 0.92 : 1.06;
      return { ...measurement, throughput: { value: value * factor, low: 0.9 * value, high: 1.1 * value } };
    };
    const played = playFinal(study, { read });
    expect(played.decision).toMatchObject({ best: 0, gain: { value: 1 }, verdict: 'nothing-better' });
    expect(played.decision?.rejected?.gain?.low).toBeLessThan(1);
    expect(played.decision?.rejected?.reason).toMatch(
      /^its gain, 1\.0.× \(95 % interval 0\..* may be none(; a longer final could tell)?$/,
    );
    const certain: Study = {
      original,
      rivals: [{ law: saturating({ aloneMs: 4, most: 250 }), levels: [1, 2] }],
    };
    expect(playFinal(certain).decision).toMatchObject({ best: 1, verdict: 'better' });
    const spec = toSpec({ model: 'm', leastGain: 40 });
    expect(playFinal({ ...certain, started: { spec } }).decision).toMatchObject({
      best: 0,
      rejected: { trial: 1, reason: 'its gain, 1.25×, is below the 40 % of --least-gain' },
    });
  });

  it('goes by readings that the server limited alone', () => {
    const study: Study = { original, rivals: [fastOne] };
    const nothing = playFinal(study, { read: (turn) => clientBound(lawful(study, turn)) });
    expect(nothing.decision).toEqual({ best: 1, gain: null, verdict: 'unconfirmed' });
    expect(representative(decided(nothing), trialOfNumber(decided(nothing).trials, 1))?.measurement.client.bound).toBe(
      false,
    );
    // Far too much, and far too late: neither is held for or against it.
    for (const law of [flat(9000, 1), flat(10, 80)]) {
      const read = (turn: Turn) =>
        turn.trial === 1 && turn.round === 1 ? clientBound(readingOf(law, turn.level)) : lawful(study, turn);
      const { decision } = playFinal(study, { read });
      expect(decision?.best).toBe(1);
      expect(decision?.gain?.value).toBeCloseTo(3, 1);
    }
  });
});

describe('a final that is cut short', () => {
  it('decides nothing before a whole round', () => {
    const played = playFinal({ original, rivals: [fastOne] });
    expect(decideNow(foldStudy(cutAfter(played, 0)), 2)).toBeNull();
    expect(decideNow(foldStudy(cutAfter(played, 1)), 2)).toBeNull();
    expect(decideNow(foldStudy(cutAfter(played, 2)), 2)).toMatchObject({
      best: 1,
      gain: { value: expect.closeTo(3, 1) },
    });
  });

  const played = playFinal({
    original,
    rivals: [lucky, { ...fastOne, levels: [4, 5, 8] }, { ...original, law: saturating({ aloneMs: 4, most: 240 }) }],
  });
  /** Its first round is over, in which the only finalist held nowhere. */
  const afterOneRound = cutAfter(
    played,
    played.visits.filter(({ round }) => round === 1).flatMap(({ levels }) => levels).length,
  );

  it('takes what kept the budget clearly in the search where nobody that played holds', () => {
    const decision = decideNow(foldStudy(afterOneRound), 2);
    if (!decision) throw new Error('no decision');
    expect(decision).toMatchObject({ best: 2, gain: null, rejected: { trial: 1, reason: /missed the goal/ } });
    const state = foldStudy([...afterOneRound, { type: 'gain-decided', at: '2026-01-01T00:10:00.000Z', ...decision }]);
    const summary = summarize(state, 'journal.jsonl');
    expect(summary).toMatchObject({ feasible: true, best: { trial: 2 }, gain: null, rejected: { trial: 1 } });
    expect(summary.explanation?.sentences[0]).toMatch(/^Trial 1 seemed better, but it missed the goal in the final/);
  });

  it('passes over what the sampler holds for luck', () => {
    const { measurements } = trialOfNumber(foldStudy(afterOneRound).trials, 2);
    const chosen = trialOfNumber(foldStudy(afterOneRound).trials, 2).chosen as number;
    expect(measurements[chosen]).toBeDefined();
    const doubt: StudyRecord = {
      type: 'readings-doubted',
      at: '2026-01-01T00:10:00.000Z',
      readings: [{ trial: 2, reading: chosen }],
    };
    expect(decideNow(foldStudy([...afterOneRound, doubt]), 2)).toMatchObject({ best: 3, gain: null });
  });

  it('is for the original config before the first round where the search shows no gain', () => {
    const rival = (most: number): Searched => ({ law: saturating({ aloneMs: 1000 / most, most }), levels: [1, 2] });
    const searched = (most: number) => foldStudy(searchedStudy({ original, rivals: [{ ...rival(most), doubt: 0.1 }] }));
    expect(decideNow(searched(205), 2)).toMatchObject({
      best: 0,
      verdict: 'nothing-better',
      rejected: { trial: 1, reason: expect.stringMatching(/may be none, by the search alone$/) },
    });
    expect(decideNow(searched(400), 2)).toBeNull();
  });

  it('keeps the original config where the search was sure of nothing else', () => {
    const alone = playFinal({ original, rivals: [lucky] });
    const round = alone.visits.filter((visit) => visit.round === 1).flatMap(({ levels }) => levels).length;
    expect(decideNow(foldStudy(cutAfter(alone, round)), 2)).toMatchObject({ best: 0, rejected: { trial: 1 } });
  });
});

describe('what stands for a trial', () => {
  it('is what the search chose until the final has decided', () => {
    const played = playFinal({ original, rivals: [fastOne] });
    const state = foldStudy(played.records);
    const trial = trialOfNumber(state.trials, 1);
    expect(representative(state, trial)?.measurement).toBe(trial.measurements[trial.chosen as number]);
  });

  it('is a reading of the final at the recommended level: the median of those that keep the budget', () => {
    const study: Study = { original, rivals: [fastOne] };
    const factors = [1.02, 0.98, 1];
    const read = (turn: Turn): Measurement => {
      const measurement = lawful(study, turn);
      if (turn.trial === 0) return measurement;
      const value = measurement.throughput.value * (factors[turn.round - 1] ?? 1);
      return { ...measurement, throughput: { value, low: 0.98 * value, high: 1.02 * value } };
    };
    const played = playFinal(study, { rounds: 3, read });
    const state = decided(played);
    const stands = representative(state, trialOfNumber(state.trials, 1));
    expect(stands?.feasible).toBe(true);
    expect(stands?.measurement.level.value).toBe(recommendedOf(played, 1).recommended);
    expect(stands?.measurement.throughput.value).toBe(600);
    expect(summarize(state, 'journal.jsonl').best?.throughput.value).toBe(600);
  });

  it('is never a disturbed reading, which tells next to nothing', () => {
    const reading = (value: number, share: number): Measurement => ({
      ...measured(4, value, 5),
      throughput: { value, low: value * (1 - share), high: value * (1 + share) },
    });
    const [wide, narrow, fair] = [reading(1243, 1.53), reading(1249, 0.09), reading(1188, 0.13)];
    expect(medianByPrecision([narrow, fair, wide])).toBe(narrow);
    // Equally precise ones: the median, of two the lower.
    expect(medianByPrecision([reading(3, 0.02), reading(1, 0.01), reading(2, 0.04)]).throughput.value).toBe(2);
    expect(medianByPrecision([reading(2, 0.02), reading(1, 0.04)]).throughput.value).toBe(1);
    expect(medianByPrecision([wide])).toBe(wide);
  });

  it('keeps the goal of a finalist that came down to another level, and misses it for one that holds nowhere', () => {
    const down = playFinal({ original, rivals: [{ law: fast, levels: [8], luck: 0.7 }] });
    const stands = representative(decided(down), trialOfNumber(decided(down).trials, 1));
    expect(stands?.feasible).toBe(true);
    expect(stands?.measurement.latencyMs.p99).toBeLessThanOrEqual(BUDGET_MS);
    const out = playFinal({ original, rivals: [lucky] });
    expect(representative(decided(out), trialOfNumber(decided(out).trials, 1))?.feasible).toBe(false);
  });
});

describe('a final without a curve over the levels', () => {
  it('compares by the readings where there is no budget', () => {
    const study: Study = { goal: goalOf(null), original, rivals: [fastOne] };
    const played = playFinal(study);
    expect(recommendedOf(played, 1).curve).toBeNull();
    expect(turnsOf(played)).toEqual([
      [0, 1],
      [1, 0],
    ]);
    expect(played.decision).toMatchObject({ best: 1, gain: { value: expect.closeTo(3, 2) } });
  });

  it('goes by the goal where that is another than throughput within a budget', () => {
    const goal = goalOf(null, { objectives: [{ metric: 'latency-p99', weight: 1 }] });
    const quick: Searched = { law: saturating({ aloneMs: 2, most: 600 }), levels: [1, 2] };
    const { decision } = playFinal({ goal, original, rivals: [fastOne, quick] });
    expect(decision).toMatchObject({ best: 2, gain: { value: expect.closeTo(2.5, 2) } });
  });

  it('leaves a level that most of its readings say misses a constraint', () => {
    const inTime = { metric: 'latency-p99', relation: '<=', value: BUDGET_MS } as const;
    const goal = goalOf(null, { constraints: [inTime] });
    const study: Study = { goal, original, rivals: [{ ...fastOne, levels: [3, 6] }] };
    const late = (turn: Turn) => later(lawful(study, turn), turn.trial === 1 && turn.level === 6 ? 1.2 : 1);
    const played = playFinal(study, { read: late });
    expect(lastLevel(played, 1)).toBe(3);
    expect(played.decision?.best).toBe(1);
  });
});

describe('a final at request rates', () => {
  const started = { levels: { mode: 'request-rate', low: 10, high: 1000 } } as const;
  const open = (aloneMs: number, perHundred: number): Law => ({
    throughput: (rate) => rate,
    p99Ms: (rate) => aloneMs + (perHundred * rate) / 100,
  });

  it('looks for the highest rate that keeps the budget, in small steps', () => {
    const law = open(3, 1);
    const study: Study = {
      started,
      original: { law: open(4, 2.5), levels: [100, 200, 300] },
      rivals: [{ law, levels: [200, 400, 800] }],
    };
    const played = playFinal(study);
    const state = decided(played);
    const { measurement, feasible } = representative(state, trialOfNumber(state.trials, 1)) ?? {};
    expect(measurement?.level.mode).toBe('request-rate');
    expect(feasible).toBe(true);
    // Truly 700 keep the budget.
    expect(measurement?.level.value).toBeGreaterThan(480);
    expect(measurement?.level.value).toBeLessThanOrEqual(700);
    expect(played.decision).toMatchObject({ best: 1 });
    expect(played.decision?.gain?.value).toBeGreaterThan(2);
  });
});
