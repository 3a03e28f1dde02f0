import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Measurement } from '../../src/profiler/measurement.ts';
import { replay } from '../../src/study/final/standoff.ts';
import { decideNow, isInDoubt, nextFinal, representative } from '../../src/study/final.ts';
import { foldStudy } from '../../src/study/fold.ts';
import type { StudyRecord } from '../../src/study/records.ts';
import { summarize } from '../../src/study/summary.ts';
import type { Trial } from '../../src/study/types.ts';
import { candidateOf, configOf, goalOf, measured, studyStarted } from './builders.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

/** The records of one finished trial; `levels` are [level, throughput, latency ms]. */
function trial(
  number: number,
  levels: readonly (readonly [number, number, number])[],
  chosen: number | null,
  feasible: boolean,
  doubt = 0.02,
): StudyRecord[] {
  const measurements = levels.map(([level, throughput, latency]) =>
    measured(level, throughput, latency, {
      throughput: { value: throughput, low: throughput * (1 - doubt), high: throughput * (1 + doubt) },
    }),
  );
  return [
    {
      type: 'trial-started',
      at: at(number * 10),
      trial: number,
      role: number === 0 ? 'baseline' : 'search',
      candidate: candidateOf(configOf(number + 1, 4), { count: number + 1 }),
    },
    {
      type: 'trial-applied',
      at: at(number * 10 + 1),
      trial: number,
      change: number === 0 ? 'none' : 'full',
      loadMs: 900,
    },
    ...measurements.map(
      (measurement, index): StudyRecord => ({
        type: 'trial-measured',
        at: at(number * 10 + 2 + index),
        trial: number,
        measurement,
      }),
    ),
    { type: 'trial-finished', at: at(number * 10 + 9), trial: number, chosen, feasible, failure: null },
  ];
}

const searched: readonly StudyRecord[] = [
  studyStarted(goalOf(10)),
  ...trial(
    0,
    [
      [1, 100, 5],
      [2, 150, 9],
      [4, 160, 20],
    ],
    1,
    true,
  ),
  ...trial(
    1,
    [
      [2, 200, 4],
      [4, 300, 9],
      [8, 400, 14],
    ],
    1,
    true,
  ),
  ...trial(
    2,
    [
      [2, 180, 12],
      [4, 500, 30],
    ],
    0,
    false,
  ),
];

const slowly = { ...measured(1, 1, 9).latencyMs, avg: 40 };

const final = (trialNumber: number, measurement: Measurement, round = 1): StudyRecord => ({
  type: 'final-measured',
  at: at(60),
  trial: trialNumber,
  round,
  measurement,
});

const voided = ({ round, slower }: { readonly round: number; readonly slower: number }): StudyRecord => ({
  ...{ type: 'round-voided', at: at(60), round, slower },
});

describe('the fold', () => {
  it('gives trials, best, counts and time', () => {
    const state = foldStudy(searched);
    expect(state.trials.map((each) => each.number)).toEqual([0, 1, 2]);
    expect(state.baseline?.number).toBe(0);
    expect(state.best?.number).toBe(1);
    expect(state.counts).toEqual({ trials: 3, measurements: 8, reloads: 2, failed: 0 });
    expect(state.elapsedSeconds).toBe(29);
    expect(state.loadSeconds).toBeCloseTo(2.7);
    expect(state.finished).toBeNull();
  });

  describe('with readings in doubt', () => {
    const doubt = (...readings: readonly (readonly [number, number])[]): StudyRecord => ({
      ...{ type: 'readings-doubted', at: at(50) },
      readings: readings.map(([of, reading]) => ({ trial: of, reading })),
    });
    const higher = [...searched, ...trial(3, [[8, 350, 9]], 0, true)];

    it('looks for the best among the others, and takes the doubted where nothing else meets the goal', () => {
      expect(foldStudy(higher).best?.number).toBe(3);
      const state = foldStudy([...higher, doubt([3, 0])]);
      expect(state.best?.number).toBe(1);
      expect(state.trials.map((each) => isInDoubt(state, each))).toEqual([false, false, false, true]);
      expect(foldStudy([...higher, doubt([1, 0], [1, 1], [3, 0])]).best?.number, 'rather than the original').toBe(3);
    });

    it('lets the best stand for another of its levels, but not the original config', () => {
      const state = foldStudy([...higher, doubt([0, 1], [1, 1], [3, 0])]);
      expect(state.trials.map(({ chosen }) => chosen)).toEqual([1, 0, 0, 0]);
      expect(state.trials[1]).toBe(state.best);
      expect(state.best).toMatchObject({ number: 1, chosen: 0, feasible: true });
    });

    it('goes by what was said last, until the goal is another, and the final has read again', () => {
      expect(foldStudy([...higher, doubt([3, 0]), doubt()]).best?.number).toBe(3);
      const changed: StudyRecord = { type: 'goal-changed', at: at(51), goal: goalOf(9.5) };
      expect(foldStudy([...higher, doubt([3, 0]), changed]).best?.number).toBe(3);
      expect(foldStudy([...higher, doubt([3, 0])], goalOf(9.5)).best?.number).toBe(3);
      const read = foldStudy([...higher, doubt([3, 0]), final(3, measured(8, 340, 9))]);
      expect(read.trials.filter((each) => isInDoubt(read, each))).toEqual([]);
    });

    it('lets both meet in the final', () => {
      const far = [...searched, ...trial(3, [[8, 600, 9]], 0, true)];
      const state = foldStudy([...far, doubt([3, 0])]);
      expect(state.contender?.number).toBe(1);
      const { finalists } = replay(state, 2) as NonNullable<ReturnType<typeof replay>>;
      expect(finalists.map((side) => side.trial.number)).toEqual([1, 3]);
    });
  });

  it('has a front of measured points that no other beats, budget or not', () => {
    const front = foldStudy(searched).front.map(({ trial: each, measurement, feasible }) => [
      each.number,
      measurement.level.value,
      feasible,
    ]);
    expect(front).toEqual([
      [1, 2, true],
      [1, 4, true],
      [1, 8, false],
      [2, 4, false],
    ]);
  });

  it('ranks anew under another budget, from the same records', () => {
    expect(foldStudy(searched, goalOf(15)).best).toMatchObject({ number: 1, chosen: 2, feasible: true });
    expect(foldStudy(searched, goalOf(40)).best).toMatchObject({ number: 2, chosen: 1 });
    expect(foldStudy(searched, goalOf(1)).best).toMatchObject({ number: 1, chosen: 0, feasible: false });
    const goal = goalOf(1, { objectives: [{ metric: 'gpu-power', weight: 1 }] });
    expect(() => foldStudy(searched, goal)).toThrowError(expect.objectContaining({ code: 'UNSUPPORTED' }));
  });

  it('knows the trial that the run ended in, and forgets its first attempt when it is started anew', () => {
    const cut = searched.slice(0, 10);
    expect(foldStudy(cut).unfinished).toMatchObject({ number: 1, levels: { kind: 'search' }, measurements: [{}] });
    expect(foldStudy([...cut, cut[7] as StudyRecord]).unfinished?.measurements).toEqual([]);
  });

  it('folds any beginning of a journal without complaint, and counts only what is finished', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: searched.length }), (length) => {
        const part = searched.slice(0, length);
        const finished = part.filter((record) => record.type === 'trial-finished').length;
        const state = foldStudy(part);
        expect(state.trials).toHaveLength(finished);
        expect(state.unfinished !== null).toBe(
          part.filter((record) => record.type === 'trial-started').length > finished,
        );
        JSON.stringify(summarize(state, 'journal.jsonl'));
      }),
    );
  });

  it('reads as contradictory, not as something else, when records are missing or twice', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([...searched, ...searched]), (shuffled) => {
        try {
          foldStudy(shuffled);
        } catch (error) {
          expect(error).toMatchObject({ code: 'JOURNAL_INVALID' });
        }
      }),
    );
  });

  it('does not count the time between runs', () => {
    const resumed: StudyRecord = { type: 'study-resumed', at: at(3000), server: studyStarted(goalOf(1)).server };
    const done: StudyRecord = {
      type: 'study-finished',
      at: at(3005),
      stopReason: 'x',
      interrupted: false,
      wallSeconds: 1,
    };
    expect(foldStudy([...searched, resumed, done]).elapsedSeconds).toBe(34);
  });
});

describe('the final', () => {
  /** Plays the final with `law` giving each measurement, and returns who was measured at which level. */
  function play(law: (trialNumber: number, level: number) => Measurement, rounds = 3, before = searched) {
    const records = [...before];
    const turns: string[] = [];
    for (let turn = 0; turn < 50; turn++) {
      const step = nextFinal(foldStudy(records), rounds);
      if (step?.kind === 'void') {
        turns.push(`round ${step.round} void`);
        records.push(voided(step));
        continue;
      }
      if (step?.kind !== 'measure') return { turns, decision: step?.decision, records };
      turns.push(`${step.trial.number}@${step.level}`);
      records.push(final(step.trial.number, law(step.trial.number, step.level), step.round));
    }
    throw new Error('the final does not end');
  }

  it('measures both in turn, there and back, at their own levels, and decides by the ratio of the pairs', () => {
    const { turns, decision } = play((number) => (number === 1 ? measured(4, 300, 9) : measured(2, 150, 9)));
    expect(turns).toEqual(['0@2', '1@4', '1@4', '0@2', '0@2', '1@4']);
    expect(decision?.best).toBe(1);
    expect(decision?.gain?.value).toBeCloseTo(2, 12);
  });

  it.each([
    ['after one clear miss', 13, ['0@2', '1@4', '1@3', '1@3', '0@2', '0@2', '1@3']],
    ['after most rounds missed narrowly', 10.1, ['0@2', '1@4', '1@4', '1@3', '0@2', '0@2', '1@3', '1@3', '0@2']],
  ])('goes to a lower level %s, each side by itself', (_, lateMs, expected) => {
    const { turns, decision } = play((number, level) =>
      number === 1 ? measured(level, level === 4 ? 300 : 200, level === 4 ? lateMs : 8) : measured(level, 150, 9),
    );
    // The search knows that 2 is good; the rounds themselves say that 3 should be.
    expect(turns).toEqual(expected);
    expect(decision).toMatchObject({ best: 1, gain: { value: expect.closeTo(200 / 150, 9) } });
  });

  it('stays where one late reading stands against many of that level and those nearby', () => {
    const turnsOf = (...levels: readonly (readonly [number, number, number])[]) => {
      const original = [studyStarted(goalOf(10)), ...trial(0, [[2, 150, 9]], 0, true)];
      const chosen = levels.findIndex(([level]) => level === 4);
      let own = 0;
      const law = (number: number, level: number) => measured(level, 60 * level, number === 1 && own++ === 0 ? 14 : 9);
      return play(law, 2, [...original, ...trial(1, levels, chosen, true)]).turns;
    };
    const known = turnsOf([3, 240, 7], [4, 300, 9], [5, 310, 9.8]);
    expect(known).toEqual(['0@2', '1@4', '1@4', '0@2', '0@2', '1@4']);
    // With little else to go by it is taken at its word.
    expect(turnsOf([4, 300, 9]).slice(0, 3)).toEqual(['0@2', '1@4', '1@3']);
  });

  it('takes a clear miss at its word at request rates: latency does not grow as they do', () => {
    const atRate = (measurement: Measurement): Measurement => ({
      ...measurement,
      level: { mode: 'request-rate', value: measurement.level.value },
    });
    const nearby = [
      [30, 30, 7],
      [40, 40, 9],
      [50, 50, 9.8],
    ] as const;
    const before = [...trial(0, [[20, 20, 9]], 0, true), ...trial(1, nearby, 1, true)].map(
      (each): StudyRecord =>
        each.type === 'trial-measured' ? { ...each, measurement: atRate(each.measurement) } : each,
    );
    let own = 0;
    const law = (number: number, rate: number) => atRate(measured(rate, rate, number === 1 && own++ === 0 ? 14 : 9));
    const { turns } = play(law, 2, [studyStarted(goalOf(10)), ...before]);
    expect(turns.slice(0, 3)).toEqual(['0@20', '1@40', '1@30']);
  });

  it('goes up while it is served, as far as its rounds leave room, where the search says that more is served there', () => {
    const truth = (level: number) => [Math.min(75 * level, 400), 1.5 * level] as const;
    const { turns, decision } = play((number, level) =>
      number === 1 ? measured(level, ...truth(level)) : measured(level, 150, 9),
    );
    // 4 takes 6 of 10 ms, which leaves room for 6; that takes 9, which leaves none. The search saw 400 infer/s at 8.
    expect(turns).toEqual(['0@2', '1@4', '1@6', '1@6', '0@2', '0@2', '1@6']);
    expect(decision).toMatchObject({ best: 1, gain: { value: expect.closeTo(400 / 150, 9) } });
    const noMore = play((number, level) => (number === 1 ? measured(level, 390, 6) : measured(level, 150, 9))).turns;
    expect(noMore.filter((turn) => turn.startsWith('1'))).toEqual(Array(3).fill('1@4'));
  });

  it('goes on after a step up until the higher level is known as well as what others serve', () => {
    const known = [
      [4, 300, 9],
      [8, 400, 14],
    ] as const;
    const trials = [
      trial(0, [[2, 150, 9]], 0, true),
      trial(1, known, 0, true, 0.1),
      trial(3, [[4, 298, 9]], 0, true, 0.1),
    ];
    // Of the first it is not told in three rounds, the most that there are for that, what it serves; the third leaves room for more.
    const atFour = [measured(4, 335, 9.5), measured(4, 280, 5), measured(4, 335, 5)];
    const law = (number: number, level: number) => {
      if (number === 0) return measured(level, 150, 9);
      if (number === 1) return atFour.shift() ?? measured(level, 325, 9);
      return measured(level, 305, 9, { throughput: { value: 305, low: 150, high: 460 } });
    };
    const { turns, decision } = play(law, 2, [studyStarted(goalOf(10)), ...trials.flat()]);
    const own = turns.filter((turn) => turn.startsWith('1'));
    expect(own).toEqual(['1@4', '1@4', '1@4', '1@7', '1@7']);
    expect(decision).toMatchObject({ best: 1, gain: { value: expect.closeTo(325 / 150, 9) } });
  });

  it('goes to the level that the search found good where the rounds ask for a lower one', () => {
    const { turns } = play((number, level) => measured(level, 200, number === 1 && level === 4 ? 25 : 9));
    expect(turns.slice(2)).toEqual(['1@2', '1@2', '0@2', '0@2', '1@2']);
  });

  it('enters below a level at which the search left it open whether the budget is kept', () => {
    const doubtful = [studyStarted(goalOf(10)), ...trial(0, [[2, 150, 9]], 0, true)];
    const stepOf = (latency: number) =>
      nextFinal(foldStudy([...doubtful, ...trial(1, [[20, 300, latency]], 0, true), final(0, measured(2, 150, 9))]), 2);
    expect(stepOf(9.7)).toMatchObject({ kind: 'measure', trial: { number: 1 }, level: 20 });
    // Its interval ends at 10.1: 0.9 of the level at which the budget would just be kept.
    expect(stepOf(9.9)).toMatchObject({ kind: 'measure', trial: { number: 1 }, level: 18 });
  });

  it('enters at what the search chose where a level less would be far below', () => {
    const few = [studyStarted(goalOf(10)), ...trial(0, [[2, 150, 9]], 0, true), ...trial(1, [[3, 300, 9.9]], 0, true)];
    const step = nextFinal(foldStudy([...few, final(0, measured(2, 150, 9))]), 2);
    expect(step).toMatchObject({ kind: 'measure', trial: { number: 1 }, level: 3 });
  });

  it.each([10.1, 14])(
    'plays a third round after one of two that was late, at %s ms, and stays if that holds',
    (lateMs) => {
      let own = 0;
      const law = (number: number, level: number) =>
        measured(level, number === 1 ? 300 : 150, number === 1 && ++own === 2 ? lateMs : 9);
      const { turns, decision } = play(law, 2);
      expect(turns).toEqual(['0@2', '1@4', '1@4', '0@2', '0@2', '1@4']);
      expect(decision).toMatchObject({ best: 1, gain: { value: expect.closeTo(2, 9) } });
    },
  );

  it('takes two rounds where both hold and agree', () => {
    expect(play((number, level) => measured(level, number === 1 ? 300 : 150, 9), 2).turns).toHaveLength(4);
  });

  it('goes on until a contender holds for its rounds: one that only now found its level is no reason to emit the original', () => {
    const once = [studyStarted(goalOf(10)), ...trial(0, [[2, 150, 9]], 0, true), ...trial(1, [[40, 3000, 9]], 0, true)];
    const isLate = (level: number) => level > 20;
    const law = (number: number, level: number) =>
      number === 1 ? measured(level, 70 * level, isLate(level) ? 10.1 : 9) : measured(level, 150, 9);
    const { turns, decision } = play(law, 2, once);
    const own = turns.filter((turn) => turn.startsWith('1')).map((turn) => Number(turn.slice(2)));
    expect(own.slice(-2).some(isLate)).toBe(false);
    expect(decision).toMatchObject({ best: 1, gain: { value: expect.closeTo((70 * (own.at(-1) ?? 0)) / 150, 9) } });
  });

  it('does not count rounds in which the machine was slow for the original too, and plays them again', () => {
    let measurements = 0;
    const isStalled = () => measurements > 2 && measurements < 7;
    const { turns, decision, records } = play((number, level) => {
      measurements++;
      const factor = isStalled() ? 4 : 1;
      return number === 1 ? measured(4, (75 * level) / factor, 9 * factor) : measured(2, 150 / factor, 9 * factor);
    }, 2);
    const stalled = ['1@4', '0@2', 'round 2 void'];
    expect(turns).toEqual(['0@2', '1@4', ...stalled, ...stalled, '1@4', '0@2']);
    expect(decision).toMatchObject({ best: 1, gain: { value: expect.closeTo(2, 9) } });
    const { finals, voidRounds, trials } = foldStudy(records);
    expect([finals.length, voidRounds]).toEqual([4, 2]);
    expect(representative(foldStudy(records), trials[1] as Trial)?.measurement.throughput.value).toBe(300);
  });

  it('counts them where nobody missed the goal, and where the machine stays slow', () => {
    const voidIn = (latencyMs: number) => {
      const { turns, decision } = play(
        (number, level) =>
          number === 1
            ? measured(level, 70, 9)
            : measured(level, 40, latencyMs, { latencyMs: { ...slowly, p99: latencyMs } }),
        2,
      );
      expect(decision?.best).toBe(1);
      return turns.filter((turn) => turn.endsWith('void')).length;
    };
    expect([voidIn(9.9), voidIn(12)]).toEqual([0, 5]);
  });

  it('takes half of the rounds for a miss', () => {
    let round = 0;
    const { turns } = play((number, level) => {
      if (number === 1) round++;
      return measured(level, 200, number === 1 && level === 4 && round % 2 === 0 ? 10.1 : 9);
    }, 4);
    const own = turns.filter((turn) => turn.startsWith('1'));
    expect(own).toEqual([...Array(4).fill('1@4'), ...Array(4).fill('1@3')]);
  });

  it('goes down a few times, not for ever', () => {
    const { turns, decision } = play((number, level) => measured(level, 200, number === 1 ? 14 : 9), 5);
    const own = turns.filter((turn) => turn.startsWith('1'));
    expect([...new Set(own)]).toEqual(['1@4', '1@3', '1@2', '1@1']);
    expect(own.length).toBeLessThan(10);
    expect(decision).toMatchObject({ best: 0, rejected: { trial: 1 } });
  });

  it('falls back to the original when the contender is slower, or never within the goal', () => {
    const slower = play((number, level) => measured(level, number === 1 ? 100 : 150, 9)).decision;
    expect(slower).toMatchObject({
      best: 0,
      gain: { value: 1, low: 1, high: 1 },
      rejected: { trial: 1, reason: /better/ },
    });
    const late = play((number, level) => measured(level, number === 1 ? 300 : 150, number === 1 ? 12 : 9)).decision;
    expect(late).toMatchObject({ best: 0, rejected: { trial: 1, reason: expect.stringContaining('missed the goal') } });
  });

  it('keeps a contender whose gain is uncertain', () => {
    let turn = 0;
    const { decision } = play((_, level) => measured(level, 150 + 20 * (turn++ % 3), 9));
    expect(decision?.best).toBe(1);
    expect(decision?.gain?.low).toBeLessThan(1);
  });

  it('has nothing to compare when the baseline is the best, and nothing to decide before a whole round', () => {
    expect(nextFinal(foldStudy(searched.slice(0, 7)), 3)).toBeNull();
    expect(decideNow(foldStudy([...searched, final(0, measured(2, 150, 9))]), 3)).toBeNull();
    const one = [...searched, final(0, measured(2, 150, 9)), final(1, measured(4, 300, 9))];
    expect(decideNow(foldStudy(one), 3)).toMatchObject({ best: 1, gain: { low: 0, high: Number.POSITIVE_INFINITY } });
  });

  it('keeps the contender at a level that the search found good when it is cut short after a miss', () => {
    const over = [final(0, measured(2, 150, 9)), final(1, measured(4, 300, 14))];
    const cut = foldStudy([...searched, ...over]);
    expect(nextFinal(cut, 3)).toMatchObject({ kind: 'measure', trial: { number: 1 }, level: 3, opensRound: false });
    const decision = decideNow(cut, 3);
    expect(decision).toEqual({ best: 1, gain: null });
    const state = foldStudy([...searched, ...over, { type: 'gain-decided', at: at(70), best: 1, gain: null }]);
    if (!state.best) throw new Error('no best');
    expect(representative(state, state.best)).toMatchObject({ feasible: true, measurement: { level: { value: 2 } } });
  });

  it('takes what the search was sure of when it is cut short and those that played missed the goal', () => {
    const near = { ...measured(4, 250, 9.9), budgetLatencyMs: { value: 9.9, low: 9.5, high: 10.4, percentile: 99 } };
    const [, ...others] = [0, 1, 2].map((index) => trial(2 + index, [[4, 200 - 10 * index, 9]], 0, true));
    const unsure = trial(2, [[4, 250, 9.9]], 0, true).map((each) =>
      each.type === 'trial-measured' ? { ...each, measurement: near } : each,
    );
    const original = trial(0, [[2, 150, 9]], 0, true);
    const records = [studyStarted(goalOf(10)), ...original, ...trial(1, [[4, 300, 9]], 0, true), ...unsure];
    const late = [final(0, measured(2, 150, 9)), final(1, measured(4, 300, 14))];
    expect(decideNow(foldStudy([...records, ...late]), 3)).toMatchObject({ best: 0, rejected: { trial: 1 } });

    const cut = [...records, ...others.flat(), ...late];
    const decision = decideNow(foldStudy(cut), 3);
    if (!decision) throw new Error('no decision');
    expect(decision).toMatchObject({ best: 3, gain: null, rejected: { trial: 1 } });
    const decided = summarize(foldStudy([...cut, { type: 'gain-decided', at: at(70), ...decision }]), 'journal.jsonl');
    expect(decided).toMatchObject({ feasible: true, best: { trial: 3, load: { value: 4 } }, gain: null });
    expect(decided.rejected).toMatchObject({ trial: 1, reason: expect.stringContaining('missed') });
    expect(decided.explanation?.sentences[0]).toMatch(/^Trial 1 seemed better, but it missed the goal in the final/);

    // One that the sampler holds for luck is none of those.
    const doubted: StudyRecord = { type: 'readings-doubted', at: at(50), readings: [{ trial: 3, reading: 0 }] };
    const doubtful = foldStudy([...records, ...others.flat(), doubted, ...late]);
    expect(decideNow(doubtful, 3)).toMatchObject({ best: 4, gain: null });
  });

  it('never emits what missed the goal while the original still meets it at a lower level', () => {
    const original = trial(
      0,
      [
        [1, 100, 5],
        [2, 150, 9],
      ],
      1,
      true,
    );
    const records = [studyStarted(goalOf(10)), ...original, ...trial(1, [[4, 300, 9]], 0, true)];
    // It goes to its lower level at once, and the other one to one that is never measured.
    const late = [final(0, measured(2, 150, 12)), final(0, measured(1, 100, 5)), final(1, measured(4, 300, 12))];
    const decision = decideNow(foldStudy([...records, ...late]), 3);
    if (!decision) throw new Error('no decision');
    expect(decision).toMatchObject({ best: 0, rejected: { trial: 1, reason: expect.stringContaining('missed') } });
    const decided = foldStudy([...records, ...late, { type: 'gain-decided', at: at(70), ...decision }]);
    expect(summarize(decided, 'journal.jsonl')).toMatchObject({
      feasible: true,
      best: { trial: 0, load: { value: 1 } },
    });
  });

  it('is what reports show: the median of the rounds that agree with the majority', () => {
    const throughputs = [305, 295, 300];
    const { records, decision } = play((number, level) =>
      number === 1 ? measured(level, throughputs.pop() ?? 0, 9) : measured(level, 150, 9),
    );
    if (!decision) throw new Error('no decision');
    const state = foldStudy([...records, { type: 'gain-decided', at: at(70), ...decision }]);
    if (!state.best) throw new Error('no best');
    expect(representative(state, state.best)).toMatchObject({
      feasible: true,
      measurement: { throughput: { value: 300 } },
    });
    expect(summarize(state, 'journal.jsonl').best?.throughput.value).toBe(300);
  });
});

describe('the final of several finalists', () => {
  /** The original at 150, three trials that the search took for 300, 298 and 296, and one far behind, at 200. */
  const closeBy = (doubt: number) => [
    studyStarted(goalOf(10)),
    ...[150, 300, 200, 298, 296].flatMap((rate, number) => trial(number, [[4, rate, 9]], 0, true, doubt)),
  ];
  const close = closeBy(0.1);

  function play(law: (trialNumber: number, round: number, level: number) => Measurement, searchedBefore = close) {
    const records = [...searchedBefore];
    const rounds: number[][] = [];
    for (let turn = 0; turn < 100; turn++) {
      const step = nextFinal(foldStudy(records), 3);
      if (step?.kind === 'void') {
        rounds.pop();
        records.push(voided(step));
        continue;
      }
      if (step?.kind !== 'measure') return { rounds, decision: step?.decision, records };
      expect(step.opensRound).toBe(rounds.length < step.round);
      if (step.opensRound) rounds.push([]);
      rounds.at(-1)?.push(step.trial.number);
      records.push(final(step.trial.number, law(step.trial.number, step.round, step.level), step.round));
    }
    throw new Error('the final does not end');
  }

  it('measures the two that seem best, and the winner may change', () => {
    const truth: Record<number, number> = { 0: 150, 1: 301, 3: 304, 4: 299 };
    const { rounds, decision, records } = play((number) => measured(4, truth[number] as number, 9));
    expect(rounds[0]).toEqual([0, 1, 3]);
    expect(decision).toMatchObject({ best: 3, gain: { value: expect.closeTo(304 / 150, 9) } });
    if (!decision) throw new Error('no decision');
    expect(foldStudy([...records, { type: 'gain-decided', at: at(70), ...decision }]).best?.number).toBe(3);
  });

  it('lets the next best wait where both are known so well that to look again promises little', () => {
    const { rounds, decision } = play((number) => measured(4, number === 0 ? 150 : 300, 9), closeBy(0.02));
    expect(rounds).toEqual([
      [0, 1],
      [1, 0],
      [0, 1],
    ]);
    expect(decision?.best).toBe(1);
  });

  it('measures no more what another beats beyond doubt', () => {
    const truth: Record<number, number> = { 0: 150, 1: 240, 3: 300, 4: 298 };
    const { rounds, decision } = play((number) => measured(4, truth[number] as number, 9));
    expect(rounds).toEqual([
      [0, 1, 3],
      [3, 1, 0],
      [0, 3],
    ]);
    expect(decision?.best).toBe(3);
  });

  it.each([
    { rate: 292, within: 0.04, played: 2, what: 'no more what is behind and promises little' },
    { rate: 299, within: 0.15, played: 3, what: 'again what may as well be ahead' },
  ])('measures $what: 300 beside $rate, known within $within', ({ rate, within, played }) => {
    const truth: Record<number, number> = { 0: 150, 1: 300, 3: rate };
    const { rounds } = play((number) => {
      const value = truth[number] as number;
      return measured(4, value, 9, { throughput: { value, low: (1 - within) * value, high: (1 + within) * value } });
    });
    expect(rounds.filter((round) => round.includes(3))).toHaveLength(played);
  });

  /** The original at 150, a trial at 300 and one at 200. */
  const apart = [...close.slice(0, 1), ...[150, 300, 200].flatMap((rate, n) => trial(n, [[4, rate, 9]], 0, true))];

  it('takes the next best of the search when the best misses the goal, however far behind it was', () => {
    const { rounds, decision } = play(
      (number, _, level) => measured(level, number === 1 ? 300 : number === 2 ? 200 : 150, number === 1 ? 99 : 9),
      apart,
    );
    // The best goes from 4 to 2 and to 1, and is out.
    expect(rounds).toEqual([
      [0, 1, 1],
      [2, 1, 0],
      [0, 2],
      [2, 0],
    ]);
    expect(decision).toMatchObject({ best: 2, gain: { value: expect.closeTo(200 / 150, 9) } });
  });

  it('compares the next best with the best at the lower level that this has gone to', () => {
    const { rounds, decision } = play((number, _, level) => {
      if (number !== 1) return measured(level, number === 2 ? 200 : 150, 9);
      return level === 4 ? measured(level, 300, 11.5) : measured(level, 240, 9);
    }, apart);
    expect(rounds.slice(0, 2)).toEqual([
      [0, 1, 1],
      [2, 1, 0],
    ]);
    expect(decision).toMatchObject({ best: 1, gain: { value: expect.closeTo(240 / 150, 9) } });
  });

  it('goes on for one that has not held yet at a level it came to late, where it serves much more than those that have', () => {
    const late = (rate: number) =>
      play((number, round, level) => {
        if (number !== 1) return measured(4, number === 0 ? 150 : 250, 9);
        // It is not known what it serves there, and that it does not hold is seen in the fourth round only.
        if (level > 3) return round % 2 === 0 ? measured(level, 200, 10.5) : measured(level, 320, 9);
        // It misses once, and it is not beyond doubt that it serves more.
        return round === 5 ? measured(level, rate / 1.3, 10.5) : measured(level, 1.3 * rate, 9);
      });
    const [much, little] = [late(350), late(260)];
    expect(little.rounds).toHaveLength(5);
    expect(little.decision?.best).toBe(3);
    expect(much.rounds).toHaveLength(6);
    expect(much.decision?.best).toBe(1);
  });

  it('ends without all the rounds of one that came in later and is no better', () => {
    const { rounds, decision } = play((number, round, level) => {
      if (number === 0) return measured(level, 150, 9);
      if (number === 1) return measured(level, level === 4 ? 300 : 240, level === 4 ? 11.5 : 9);
      return measured(level, 235, round === 2 ? 14 : 9);
    }, apart);
    // The second one goes to a lower level in its first round, and would have to play until the fourth.
    expect(rounds).toEqual([
      [0, 1, 1],
      [2, 2, 1, 0],
      [0, 1, 2],
    ]);
    expect(decision).toMatchObject({ best: 1 });
  });

  it('keeps the original when all finalists miss the goal', () => {
    const { decision } = play((number, _, level) => measured(level, number === 0 ? 150 : 300, number === 0 ? 9 : 14));
    expect(decision).toMatchObject({ best: 0, rejected: { reason: expect.stringContaining('missed the goal') } });
  });

  it('goes on until the gain is narrow, but not for ever', () => {
    const settling = play((number, round) => measured(4, number === 0 ? 150 : round <= 2 ? 200 + 50 * round : 315, 9));
    expect(settling.rounds.length).toBeGreaterThan(3);
    const gain = settling.decision?.gain;
    expect(Math.log((gain?.high ?? 0) / (gain?.low ?? 1)) / 2).toBeLessThan(0.2);
    const wild = (less: number, more: number) =>
      play((number, round) => measured(4, number === 0 ? 150 : round % 2 === 0 ? less : more, 9)).rounds;
    expect(wild(120, 400)).toHaveLength(6);
    // A gain beyond doubt need not be told as exactly as one that there may not be.
    expect(wild(220, 400)).toHaveLength(5);
  });

  it('ends whatever it measures, and replays to the same step from its journal', () => {
    fc.assert(
      fc.property(
        fc.infiniteStream(
          fc.tuple(fc.double({ min: 1, max: 900, noNaN: true }), fc.double({ min: 1, max: 20, noNaN: true })),
        ),
        (stream) => {
          const { decision, records } = play((_, __, level) => {
            const { value } = stream.next();
            return measured(level, ...(value as [number, number]));
          });
          expect([0, 1, 2, 3, 4]).toContain(decision?.best);
          expect(nextFinal(foldStudy(records), 3)).toEqual({ kind: 'decide', decision });
        },
      ),
    );
  });
});

describe('the summary', () => {
  it('is the object of the contract', () => {
    const done: StudyRecord = {
      type: 'study-finished',
      at: at(90),
      stopReason: 'the list',
      interrupted: false,
      wallSeconds: 90,
    };
    const restored: StudyRecord = {
      type: 'model-restored',
      at: at(80),
      how: 'config',
      verified: true,
      detail: 'put back',
    };
    const gain: StudyRecord = { type: 'gain-decided', at: at(70), best: 1, gain: { value: 2, low: 1.9, high: 2.1 } };
    const summary = summarize(foldStudy([...searched, gain, restored, done]), 'journal.jsonl');
    expect(summary).toMatchObject({
      schemaVersion: 1,
      model: 'm',
      server: { name: 'triton', version: '2.51.0' },
      emulated: null,
      budget: { percentile: 99, latencyMs: 10 },
      feasible: true,
      best: {
        trial: 1,
        assignment: { count: 2 },
        config: configOf(2, 4),
        load: { mode: 'concurrency', value: 4 },
        throughput: { value: 300, low: 294, high: 306 },
        latencyMs: { avg: 9, p50: 9, p90: 9, p95: 9, p99: 9 },
      },
      baseline: { trial: 0, load: { value: 2 } },
      gain: { ratio: 2, low: 1.9, high: 2.1 },
      counts: { trials: 3, measurements: 8, reloads: 2, failed: 0 },
      wallSeconds: 90,
      stopReason: 'the list',
      restored: { how: 'config', verified: true },
    });
    expect(summary.pareto).toHaveLength(4);
    expect(Object.keys(summary.server)).toEqual(['name', 'version']);
  });

  it('holds no figure that JSON cannot say', () => {
    const dead = [studyStarted(goalOf(10)), ...trial(0, [[1, 0, Number.NaN]], 0, false)];
    const gain: StudyRecord = {
      type: 'gain-decided',
      at: at(70),
      best: 1,
      gain: { value: 2, low: 0, high: Number.POSITIVE_INFINITY },
    };
    for (const records of [dead, [studyStarted(goalOf(10))], [...searched, gain]]) {
      const summary = summarize(foldStudy(records), 'journal.jsonl');
      expect(JSON.parse(JSON.stringify(summary))).toEqual(summary);
    }
  });

  it('calls the baseline once itself, and best what misses least when nothing meets the goal', () => {
    const alone = summarize(foldStudy(searched.slice(0, 7)), 'j');
    expect(alone).toMatchObject({ gain: { ratio: 1, low: 1, high: 1 }, interrupted: true });
    const infeasible = summarize(foldStudy(searched, goalOf(3)), 'j');
    expect(infeasible).toMatchObject({ feasible: false, best: { trial: 1, load: { value: 2 }, feasible: false } });
  });
});
