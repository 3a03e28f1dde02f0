import { describe, expect, it } from 'vitest';
import { VirtualClock } from '#base/clock.ts';
import { TimeKeeper } from '#tuner/time-keeper.ts';

const keeperAfter = async (seconds: number, measureMs: number, finalRounds = 0): Promise<TimeKeeper> => {
  const clock = new VirtualClock();
  const time = new TimeKeeper(clock, { timeBudgetMs: 120_000 }, { finalRounds, traced: false }, seconds * 1e3);
  time.learn({ applyMs: [1000], measureMs: [measureMs] });
  return time;
};

describe('why there is no time for another trial', () => {
  it('is said with what it takes and what is left', async () => {
    const time = await keeperAfter(67, 60_000);
    expect(time.allowsTrial({ hasFinalists: false })).toBe(false);
    expect(time.lackOfTime({ hasFinalists: false })).toBe(
      'the next trial (about 1 min 1 s) would not fit into the 53 s that are left of the time budget',
    );
  });

  it('names what is reserved for the final', async () => {
    const time = await keeperAfter(47, 20_000, 2);
    expect(time.allowsTrial({ hasFinalists: true })).toBe(false);
    expect(time.lackOfTime({ hasFinalists: true })).toBe(
      'the next trial (about 21 s) would not fit into the time budget: of the 1 min 13 s that are left, 1 min are reserved for the final',
    );
  });

  it('names the final alone where that takes all that is left', async () => {
    const time = await keeperAfter(75, 20_000, 2);
    expect(time.allowsTrial({ hasFinalists: true })).toBe(false);
    expect(time.lackOfTime({ hasFinalists: true })).toBe('the last 45 s of the time budget are for the final');
  });

  it('is that the time budget was used up only where it was', async () => {
    expect((await keeperAfter(119, 20_000)).lackOfTime({ hasFinalists: false })).toBe('the time budget was used up');
  });
});

it.each([4000, 5000, 6000])(
  'ends the search of a minute while two rounds of a final fit, with turns of %i ms',
  async (turnMs) => {
    const clock = new VirtualClock();
    const time = new TimeKeeper(clock, { timeBudgetMs: 55_000 }, { finalRounds: 2, traced: false }, 0);
    const measure = () =>
      time.timeMeasure(async () => {
        await clock.sleep(turnMs);
        return {};
      });
    await measure();
    while (time.allowsTrial({ hasFinalists: true })) await measure();
    let rounds = 0;
    while (time.allowsFinalRound(2)) {
      await measure();
      await measure();
      rounds++;
    }
    // One round gives no interval.
    expect(rounds).toBeGreaterThanOrEqual(2);
  },
);

it('ends a measurement whose replies never end, some time after the budget', async () => {
  const clock = new VirtualClock();
  const timeOf = (timeBudgetMs: number) =>
    new TimeKeeper(clock, { timeBudgetMs }, { finalRounds: 2, traced: false }, 0);
  const [short, long, unlimited] = [timeOf(5_000), timeOf(60_000), timeOf(Number.POSITIVE_INFINITY)];
  const startNs = clock.nowNs();
  const inMs = (time: TimeKeeper): number => ((time.lastNs ?? Number.NaN) - startNs) / 1e6;
  expect([short, long, unlimited].map(inMs)).toEqual([10_000, 75_000, Number.NaN]);
  await clock.sleep(20_000);
  expect([short, long].map(inMs)).toEqual([25_000, 75_000]);
});
