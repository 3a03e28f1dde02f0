import { nextFinal } from '#study/final/final.ts';
import { computeStanding } from '#study/goal/ranking.ts';
import { finalMeasured } from '#tuner/final.ts';
import type { TunePlan } from '#tuner/run.ts';
import type { StudyRecorder } from '#tuner/study-recorder.ts';
import type { TimeKeeper } from '#tuner/time-keeper.ts';
import { isOfFinal } from './handed-out.ts';
import type { WorkOutcome } from './work.ts';

type Done = Extract<WorkOutcome, { readonly kind: 'done' }>;
type Unstamped = Parameters<StudyRecorder['record']>[0];

/**
 * Writes the outcomes of work into the journal. Writes each record of each piece of work once,
 * however often it is reported.
 */
export class OutcomeRecords {
  readonly #recorder: StudyRecorder;
  readonly #time: Pick<TimeKeeper, 'learn'>;
  readonly #finalRounds: number;
  /** The number of records written, by piece of work. */
  readonly #written = new Map<string, number>();

  constructor(
    recorder: StudyRecorder,
    time: Pick<TimeKeeper, 'learn'>,
    { finalRounds, earlier }: Pick<TunePlan, 'finalRounds' | 'earlier'>,
  ) {
    this.#recorder = recorder;
    this.#time = time;
    this.#finalRounds = finalRounds;
    for (const record of earlier) if ('work' in record && record.work !== undefined) this.#count(record.work);
  }

  /** The number of final measurements written. */
  get finals(): number {
    return [...this.#written.keys()].filter(isOfFinal).length;
  }

  async take(outcome: Done): Promise<void> {
    const { id } = outcome.work;
    const records = this.#listRecords(outcome);
    for (const record of records.slice(this.#written.get(id) ?? 0)) {
      await this.#recorder.record(record);
      this.#count(id);
    }
    this.#learn(outcome);
  }

  #count(work: string): void {
    this.#written.set(work, (this.#written.get(work) ?? 0) + 1);
  }

  #learn({ applied, measurements }: Done): void {
    this.#time.learn({
      applyMs: applied ? [applied.loadMs] : [],
      measureMs: measurements.map(({ durationMs }) => durationMs).filter(Number.isFinite),
    });
  }

  #listRecords(outcome: Done): readonly Unstamped[] {
    switch (outcome.work.kind) {
      case 'trial':
        return this.#ofTrial(outcome);
      case 'original':
        return ofOriginal(outcome);
      case 'final':
        return this.#ofFinal(outcome);
    }
  }

  #ofTrial({ work, applied, measurements, failure }: Done): readonly Unstamped[] {
    const { state } = this.#recorder;
    const { id, trial } = work;
    const open = state.open.find(({ number, attempt }) => number === trial && attempt === work.attempt);
    if (!open) return [];
    const { candidate, role } = open;
    const earlier = role === 'baseline' ? (state.baseline?.measurements ?? []) : [];
    const { chosen, feasible } = computeStanding([...earlier, ...measurements], candidate, state.goal);
    // Earlier measurements stand, whatever the outcome of the visit.
    const fault = earlier.length > 0 ? null : failure;
    return [
      ...(applied ? [{ type: 'trial-applied' as const, trial, work: id, ...applied }] : []),
      ...measurements.map((measurement) => ({ type: 'trial-measured' as const, trial, work: id, measurement })),
      { type: 'trial-finished', trial, work: id, chosen, feasible: feasible && fault === null, failure: fault },
    ];
  }

  #ofFinal({ work, applied, measurements }: Done): readonly Unstamped[] {
    const { id, server } = work;
    const step = nextFinal(this.#recorder.state, this.#finalRounds);
    const [measurement] = measurements;
    if (step?.kind !== 'measure' || step.trial.number !== work.trial || !measurement) return [];
    return [
      ...(applied ? [{ type: 'trial-applied' as const, trial: work.trial, work: id, ...applied }] : []),
      { ...finalMeasured(step, measurement), work: id, server },
    ];
  }
}

const ofOriginal = ({ work: { id, server }, measurements }: Done): readonly Unstamped[] =>
  measurements.map((measurement) => ({ type: 'original-measured', work: id, server, measurement }));
