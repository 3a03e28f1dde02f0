import { describe, expect, it } from 'vitest';
import { foldStudy } from '#study/records/fold.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { isNightly } from '../../support/fuzz.ts';
import { simulatedStudy } from './simulated-studies.ts';
import { faultsOf, statementsOf } from './statements.ts';

const STUDIES = isNightly ? 5000 : 60;
/** Every so many studies have a whole report. */
const WHOLE_REPORTS = 25;
const TIMEOUT_MS = isNightly ? 7_200_000 : 300_000;

/** A journal as 0.2.0 wrote it. */
const withoutVerdicts = (records: readonly StudyRecord[]): readonly StudyRecord[] =>
  records.map((record) => {
    if (record.type !== 'gain-decided') return record;
    const { verdict: _, ...rest } = record;
    return rest;
  });

describe('what is said of a study', () => {
  it('is true, complete and the same in every place', { timeout: TIMEOUT_MS }, async () => {
    const faults: string[] = [];
    const counts = { better: 0, 'nothing-better': 0, unconfirmed: 0, infeasible: 0, 'not-measured': 0 };
    let outside = 0;
    let worse = 0;
    for (let seed = 0; seed < STUDIES; seed++) {
      const { state, records, events, trueGain } = await simulatedStudy(seed);
      const told = statementsOf(state, events, seed % WHOLE_REPORTS === 0);
      const before = statementsOf(foldStudy(withoutVerdicts(records)), events);
      for (const fault of [...faultsOf(told), ...faultsOf(before).map((each) => `before verdicts: ${each}`)])
        faults.push(`seed ${seed}: ${fault}`);
      const { verdict, gain, baseline } = told.summary;
      counts[verdict]++;
      if (verdict !== 'better' || !trueGain || gain?.low == null || !baseline?.feasible) continue;
      // Half of a 5 % interval's misses are on this side.
      if (trueGain.high < gain.low) outside++;
      if (trueGain.high < 1) worse++;
    }
    process.stdout.write(`${STUDIES} studies: ${JSON.stringify({ ...counts, outside, worse })}\n`);
    expect(faults).toEqual([]);
    for (const verdict of ['better', 'nothing-better', 'unconfirmed', 'infeasible'] as const)
      expect(counts[verdict], verdict).toBeGreaterThan(STUDIES / 50);
    expect(outside).toBeLessThanOrEqual(atMost(counts.better, 0.025));
    expect(worse).toBeLessThanOrEqual(atMost(counts.better, 0.005));
  });
});

/**
 * Returns the number of misses that a rate leaves in so many cases, with three standard deviations
 * of room.
 */
const atMost = (cases: number, rate: number): number =>
  Math.ceil(cases * rate + 3 * Math.sqrt(cases * rate * (1 - rate)));
