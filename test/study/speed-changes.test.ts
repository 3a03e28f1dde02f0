import { median } from 'simple-statistics';
import { describe, expect, it } from 'vitest';
import { closingLines } from '#headless/closing.ts';
import { createLines } from '#headless/lines.ts';
import { foldStudy } from '#study/records/fold.ts';
import { findCorrection, findRange, latestChange, listChanges, reportedBy } from '#study/speed/changes.ts';
import type { Speeds } from '#study/speed/speeds.ts';
import { describeSpeedChange } from '#study/summary/describe.ts';
import { predictTrial } from '#study/summary/prediction.ts';
import { summarize } from '#study/summary/summary.ts';
import type { TunerEvent } from '#tuner/seams.ts';
import { type OfflineStudy, offlineStudy, SLOWER_FROM_SECONDS, slowerLater } from '../support/drifting-study.ts';
import { isNightly } from '../support/fuzz.ts';

/** A moment every two seconds; the interval goes as far as this share to either side. */
const courseOf = (values: readonly number[], halfWidth = 0.03): Speeds['course'] =>
  values.map((value, index) => ({
    atSeconds: 2 * index,
    speed: { value, low: value * (1 - halfWidth), high: value * (1 + halfWidth) },
  }));

const toldOf = (values: readonly number[], halfWidth?: number): readonly number[] =>
  listChanges({ course: courseOf(values, halfWidth) }).map(({ speed }) => speed.value);

describe('changes of speed', () => {
  it('are told from 15 % on, downwards and upwards, with when and what was before', () => {
    expect(toldOf([1, 0.9, 1.1])).toEqual([]);
    expect(listChanges({ course: courseOf([1, 1, 0.6, 0.6, 1, 1]) })).toMatchObject([
      { atSeconds: 6, speed: { value: 0.6 }, before: 1 },
      { atSeconds: 10, speed: { value: 1 }, before: 0.6 },
    ]);
  });

  it('name the GPU whose clock fell with them', () => {
    const clocks = [1410, 1410, 1400, 1120, 1130, 1120];
    const gpus = (index: number) => [
      { uuid: 'GPU-1', clockMhz: 1410, powerW: 60 },
      { uuid: 'GPU-2', clockMhz: clocks[index], powerW: 298 },
    ];
    const course = courseOf([1, 1, 1, 0.78, 0.78, 0.78]);
    const throttled = course.map((each, index) => ({ ...each, gpus: gpus(index) }));
    const [change] = listChanges({ course: throttled });
    expect(change?.gpu).toEqual({ uuid: 'GPU-2', fromMhz: 1410, toMhz: 1130, powerW: 298 });
    expect(change && describeSpeedChange(change)).toBe(
      'the machine is running at 78 % of its initial speed, as the clock of its GPU went from 1410 to 1130 MHz, at 298 W; comparisons are normalised',
    );
    // A clock that hardly changed, or rose, explains nothing.
    const others = course.map((each, index) => ({ ...each, gpus: gpus(index).slice(0, 1) }));
    expect(listChanges({ course: others })).toMatchObject([{ gpu: null }]);
    const rising = course.map((each, index) => ({ ...each, gpus: [{ uuid: 'GPU-1', clockMhz: 1000 + 100 * index }] }));
    expect(listChanges({ course: rising })).toMatchObject([{ gpu: null }]);
    expect(listChanges({ course })).toMatchObject([{ gpu: null }]);
  });

  it('name the programs that began to use the GPU, or left it', () => {
    const course = courseOf([1, 1, 1, 0.7, 0.7, 1, 1]);
    const shared = course.map((each, index) => ({
      ...each,
      gpus: [{ uuid: 'GPU-1', clockMhz: 1410, ...(index >= 3 && index < 5 && { otherProcesses: ['python3'] }) }],
    }));
    const [begun, ended] = listChanges({ course: shared });
    expect(begun?.gpu).toEqual({ uuid: 'GPU-1', programs: ['python3'], have: 'begun' });
    expect(ended?.gpu).toEqual({ uuid: 'GPU-1', programs: ['python3'], have: 'ended' });
    expect(begun && describeSpeedChange(begun)).toContain('of its initial speed, as python3 began to use its GPU too;');
    expect(ended && describeSpeedChange(ended)).toContain('as python3 left its GPU;');
    // One that was there all the time explains nothing.
    const always = course.map((each) => ({ ...each, gpus: [{ uuid: 'GPU-1', otherProcesses: ['python3'] }] }));
    expect(listChanges({ course: always })).toMatchObject([{ gpu: null }, { gpu: null }]);
  });

  it('are told when two measurements in a row show them, the same way', () => {
    expect(toldOf([1, 0.6, 1, 0.6, 1])).toEqual([]);
    expect(toldOf([1, 0.6, 1.7, 1.7])).toEqual([1.7]);
  });

  it('are told once, also of a speed that stays near the limit', () => {
    expect(toldOf([1, 0.86, 0.86, 0.88, 0.86, 0.88, 0.86])).toEqual([0.86]);
    expect(toldOf([1, 0.6, 0.62, 0.58, 0.61])).toEqual([0.62]);
  });

  it('are told of slow drift as well, in steps', () => {
    const told = toldOf(Array.from({ length: 40 }, (_, step) => 1 - step / 100));
    expect(told.length).toBeGreaterThan(1);
    for (const [index, value] of told.entries()) expect((told[index - 1] ?? 1) / value).toBeGreaterThan(1.15);
  });

  it('are not told while the interval holds the speed before', () => {
    expect(toldOf([1, 0.8, 0.8], 0.3)).toEqual([]);
    expect(toldOf([1, 0.8, 0.8], 0.1)).toEqual([0.8]);
  });

  it('are told from the first measurement on, not from a first minute that is still going on', () => {
    // What everything is relative to has moved: nothing has changed at the first moment.
    expect(toldOf([1.3, 1.3, 0.8, 0.8])).toEqual([0.8]);
    const early = { course: courseOf([1.1, 0.7, 0.7]) };
    const change = latestChange(1, early);
    expect(change).toMatchObject({ atSeconds: 4, before: 1.1 });
    const told = change ? reportedBy(change, early) : Number.NaN;
    const later = { course: courseOf([1.3, 0.82, 0.82, 0.82]) };
    expect(latestChange(told, later)).toBeNull();
    expect(latestChange(1, later)).not.toBeNull();
  });

  it('are none of a study without measurements', () => {
    expect(listChanges({ course: [] })).toEqual([]);
    expect(latestChange(1, { course: [] })).toBeNull();
    expect(findRange({ course: [] })).toBeNull();
  });
});

describe('the range of speeds', () => {
  it('says whether the speed held within 5 %', () => {
    expect(findRange({ course: courseOf([1, 0.98, 1.02]) })).toEqual({ lowest: 0.98, highest: 1.02, hasHeld: true });
    expect(findRange({ course: courseOf([1, 0.94]) })).toMatchObject({ lowest: 0.94, hasHeld: false });
  });
});

const told = (events: readonly TunerEvent[]) => events.filter((event) => event.type === 'speed-changed');

/**
 * The last speed over the one before the first change: the first that a study sees may be a
 * moment's disturbance, and is not believed whole.
 */
const computeFall = (changes: ReturnType<typeof told>): number =>
  (changes.at(-1)?.speed.value ?? 0) / (changes[0]?.before ?? 1);

/** Counts the measurements of a study after its machine got slower, until it told that. */
function countUntilTold({ events }: OfflineStudy): number {
  const first = events.findIndex((event) => event.type === 'speed-changed');
  return events
    .slice(0, first)
    .filter((event) => event.type === 'trial-measured' && (event.runMs ?? 0) > 1e3 * SLOWER_FROM_SECONDS).length;
}

describe('a study whose machine gets slower', { timeout: 240_000 }, () => {
  it('tells by how much, after a few measurements', async () => {
    const models = isNightly ? [1, 3, 5] : [1];
    const studies = await Promise.all(models.map((model) => offlineStudy(slowerLater, model)));
    const fallen = median(studies.map(({ events }) => computeFall(told(events))));
    expect(fallen).toBeGreaterThan(0.55);
    expect(fallen).toBeLessThan(0.7);
    // It takes two to be sure, more where each has settings that were never measured before.
    const needed = median(studies.map(countUntilTold));
    expect(needed).toBeGreaterThan(1);
    expect(needed).toBeLessThan(5);
  });

  it('tells it with the speed that figures are compared at', async () => {
    const { events } = await offlineStudy(slowerLater);
    const changes = told(events);
    for (const { speed, before } of changes) expect(speed.value).toBeLessThan(before);
    const lines: string[] = [];
    const onEvent = createLines((line) => lines.push(line));
    for (const event of events) onEvent(event);
    const own = lines.filter((line) => line.includes('the machine is running at'));
    expect(own).toHaveLength(changes.length);
    expect(own[0]).toMatch(/^ {4}the machine is running at \d\d % of its initial speed; comparisons are normalised$/);
  });

  it('says so in its summary and at its end', async () => {
    const { records } = await offlineStudy(slowerLater);
    const state = foldStudy(records);
    const summary = summarize(state, 'journal.jsonl');
    const { usual, lowest, highest, changes, corrected } = summary.speed;
    expect((lowest ?? 0) / (highest ?? 1)).toBeCloseTo(0.6, 1);
    expect(usual).toBeLessThanOrEqual(highest ?? 0);
    expect(changes.length).toBeGreaterThan(0);
    expect(corrected).toBeGreaterThan(0);
    expect(closingLines(summary, {}).join('\n')).toMatch(
      /\nspeed +the machine ran at \d\d % to 1\d\d % of its initial speed/,
    );
  });

  it('keeps the figures that were measured, and gives beside them those that are compared', async () => {
    const { records } = await offlineStudy(slowerLater);
    const state = foldStudy(records);
    const slow = state.trials
      .flatMap(({ measurements }) => measurements)
      .concat(state.finals.map((f) => f.measurement));
    const corrected = slow.filter((each) => findCorrection(state.speeds, each) !== null);
    expect(corrected.length).toBeGreaterThan(0);
    for (const each of corrected) {
      const factor = findCorrection(state.speeds, each) ?? Number.NaN;
      expect(state.speeds.comparable(each).throughput.value / each.throughput.value).toBeCloseTo(factor, 9);
    }
    const { best } = summarize(state, 'journal.jsonl');
    const stands = slow.find((each) => each.throughput.value === best?.throughput.value);
    const isCorrected = stands !== undefined && findCorrection(state.speeds, stands) !== null;
    expect(best?.compared !== null).toBe(isCorrected);
  });

  it('predicts the best from what the others would have been at the usual speed', async () => {
    const { records } = await offlineStudy(slowerLater);
    const state = foldStudy(records);
    const { best } = summarize(state, 'journal.jsonl');
    const target = state.trials.find(({ number }) => number === best?.trial);
    if (!best?.predicted || !target) throw new Error('nothing was predicted');
    const of = (trials: typeof state.trials) => predictTrial(trials, target, best.load)?.throughput ?? Number.NaN;
    expect(best.predicted.throughput).toBe(of(state.compared.trials));
    expect(best.predicted.throughput).not.toBe(of(state.trials));
  });
});

describe('a study whose machine is steady', () => {
  it('tells nothing of speed', async () => {
    const { events, records } = await offlineStudy();
    expect(told(events)).toEqual([]);
    const summary = summarize(foldStudy(records), 'journal.jsonl');
    expect(summary.speed).toMatchObject({ changes: [], corrected: 0 });
    expect(summary.best).toMatchObject({ compared: null });
    expect(closingLines(summary, {}).join('\n')).not.toMatch(/\nspeed /);
  });
});
