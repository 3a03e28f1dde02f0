import type { Measurement } from '#profiler/measurement.ts';
import { computeStanding } from '#study/goal/ranking.ts';
import type { StudyRecord } from '#study/records/records.ts';
import type { StudyState } from '#study/records/state.ts';
import type { Trial } from '#study/types.ts';
import { BASELINE } from '#tuner/run.ts';
import type { WorkOutcome } from './work.ts';

/**
 * Measurements of the original config on other servers replace the baseline until that has
 * finished: it takes several levels, and meanwhile the others try candidates.
 */
export class StandIn {
  readonly #measurements: Measurement[];

  constructor(earlier: readonly StudyRecord[]) {
    this.#measurements = earlier.flatMap((record) => (record.type === 'original-measured' ? [record.measurement] : []));
  }

  take(outcome: WorkOutcome): void {
    if (outcome.kind === 'done' && outcome.work.kind === 'original') this.#measurements.push(...outcome.measurements);
  }

  /** Returns the trials for a sampler; null while there are none. */
  trialsIn({ baseline, compared, speeds, started, goal }: StudyState): readonly Trial[] | null {
    if (baseline) return compared.trials;
    if (this.#measurements.length === 0) return null;
    const candidate = started.original;
    const measurements = this.#measurements.map((each) => speeds.comparable(each));
    const standing = computeStanding(measurements, candidate, goal);
    return [
      { number: BASELINE, role: 'baseline', candidate, measurements, failure: null, ...standing },
      ...compared.trials,
    ];
  }
}
