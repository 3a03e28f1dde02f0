import { describe, expect, it } from 'vitest';
import { phasesSection } from '#report/page/phases-section.ts';
import { foldStudy } from '#study/records/fold.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { atSecond, searchedStudy } from '../support/study-records.ts';
import { configOf, goalOf, measured, studyStarted, toCandidate } from './builders.ts';

const seconds = (kind: string, records: readonly StudyRecord[]): number =>
  foldStudy(records)
    .phases.filter((phase) => phase.kind === kind)
    .reduce((sum, { startSeconds, endSeconds }) => sum + endSeconds - startSeconds, 0);

const candidate = toCandidate(configOf(1, 8));
const slowTrial: readonly StudyRecord[] = [
  studyStarted(goalOf(20)),
  { type: 'trial-started', at: atSecond(2), trial: 0, role: 'baseline', candidate },
  { type: 'trial-applied', at: atSecond(42), trial: 0, change: 'full', loadMs: 9_000, buildMs: 30_000 },
  { type: 'trial-measured', at: atSecond(110), trial: 0, measurement: measured(1, 100, 5, { firstAnswersMs: 60_000 }) },
  { type: 'trial-measured', at: atSecond(118), trial: 0, measurement: measured(2, 150, 8) },
  { type: 'trial-finished', at: atSecond(118), trial: 0, chosen: 1, feasible: true, failure: null },
];

describe('the phases of a study', () => {
  it('tell files that are built, loads and first answers from what is measured', () => {
    const { phases } = foldStudy(slowTrial);
    expect(phases.map(({ kind, trial, startSeconds, endSeconds }) => [kind, trial, startSeconds, endSeconds])).toEqual([
      ['choosing', 0, 0, 2],
      ['building', 0, 2, 32],
      ['loading', 0, 32, 42],
      ['first-answers', 0, 42, 102],
      ['measuring', 0, 102, 110],
      ['measuring', 0, 110, 118],
    ]);
  });

  it('count the time of a load that failed as loading', () => {
    const failed: readonly StudyRecord[] = [
      ...slowTrial.slice(0, 2),
      {
        type: 'trial-finished',
        at: atSecond(12),
        trial: 0,
        chosen: null,
        feasible: false,
        failure: { kind: 'out-of-memory', reason: 'no memory' },
      },
    ];
    expect(seconds('loading', failed)).toBe(10);
  });

  it('add up to the time of a study that has a final', () => {
    const { phases, elapsedSeconds } = foldStudy(searchedStudy);
    const all = phases.reduce((sum, { startSeconds, endSeconds }) => sum + endSeconds - startSeconds, 0);
    expect(all).toBeGreaterThan(0.9 * elapsedSeconds);
    expect(all).toBeLessThanOrEqual(elapsedSeconds);
  });
});

describe('the part of the report about them', () => {
  it('says what took longest first', () => {
    const { text } = phasesSection(foldStudy(slowTrial));
    expect(text).toContain('waiting for first answers 51 %, building files 25 %, measuring 14 %, loading 8 %');
    expect(text).toContain('trial 0');
  });

  it('is empty before the first trial', () => {
    expect(phasesSection(foldStudy(slowTrial.slice(0, 1))).text).toBe('');
  });
});
