import type { StopReason } from '#tuner/ask.ts';
import { cutShort, nextFinalStep, outOfTime } from '#tuner/final.ts';
import type { Planning } from '#tuner/run.ts';
import { ALREADY_SEARCHED } from '#tuner/search.ts';
import { openFinal, plannedVisit } from '#tuner/visit-original.ts';
import type { HandedOut } from './handed-out.ts';
import type { OutcomeRecords } from './outcome-records.ts';
import { asOneMeasurement } from './plan-levels.ts';
import type { StudyEnd } from './report.ts';
import type { Work } from './work.ts';

/** The maximum number of visits to the original config after the search. */
const MAX_VISITS = 4;

/**
 * Chooses the work after the search, as on one server: visits to the original config, then the
 * final. Knows when and why the study ends.
 */
export class FinalWork {
  readonly #run: Planning;
  readonly #handedOut: HandedOut;
  readonly #records: Pick<OutcomeRecords, 'finals'>;
  /**
   * The number of finished trials at the last visit to the original config, and the visits since
   * then.
   */
  #visited = { after: -1, times: 0 };
  #searchEnded: string | null = null;
  /** What else there is to say about the end. */
  #notes: readonly string[] = [];
  #isOver = false;

  constructor(run: Planning, handedOut: HandedOut, records: Pick<OutcomeRecords, 'finals'>) {
    this.#run = run;
    this.#handedOut = handedOut;
    this.#records = records;
  }

  /** True if no server gets any more work. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Why the study ended. */
  get stopped(): Pick<StudyEnd, 'stopReason' | 'notes'> {
    const stopReason = this.#searchEnded ?? 'the study was already finished';
    return { stopReason, ...(this.#notes.length > 0 && { notes: this.#notes }) };
  }

  /** Gives out no more work. `reason`: why, besides the end of the search. */
  end(reason?: string): void {
    this.#isOver = true;
    if (reason === undefined) return;
    if (this.#searchEnded === null) this.#searchEnded = reason;
    else this.#notes = [reason, ...this.#notes];
  }

  /**
   * Gives out no more work because the final cannot go on, and records what it decides by then.
   * Errors: those of the journal.
   */
  async cutShort(reason: string): Promise<void> {
    this.end(await cutShort(this.#run, reason));
  }

  /**
   * Returns the work after the search, which ended for that reason: first the original config once
   * more. Only while nothing is under way.
   */
  async afterSearch({ reason, notes }: StopReason, server: string): Promise<Work | 'over'> {
    this.#searchEnded = reason;
    this.#notes = notes;
    const { state } = this.#run.recorder;
    const after = state.trials.length;
    const visit = plannedVisit(this.#run);
    const isAgain = this.#visited.after === after;
    const mayVisit = isAgain ? visit?.levels.kind === 'search' && this.#visited.times < MAX_VISITS : visit !== null;
    if (visit && mayVisit) {
      this.#visited = { after, times: isAgain ? this.#visited.times + 1 : 1 };
      const levels =
        visit.levels.kind === 'search' ? asOneMeasurement(visit, this.#run.sampler(), state) : visit.levels;
      return this.#handedOut.trial(server, { ...visit, levels });
    }
    await openFinal(this.#run);
    return this.next(server);
  }

  /**
   * Returns the next measurement of the final; 'over' after the last. Only while nothing is under
   * way.
   */
  async next(server: string): Promise<Work | 'over'> {
    this.#searchEnded ??= ALREADY_SEARCHED;
    for (;;) {
      const step = nextFinalStep(this.#run);
      if (step === null) return 'over';
      const { recorder, time } = this.#run;
      if (step.kind === 'decide') {
        await recorder.record({ type: 'gain-decided', ...step.decision });
        return 'over';
      }
      if (step.kind === 'void') {
        await recorder.record({ type: 'round-voided', round: step.round, slower: step.slower });
        continue;
      }
      if (step.opensRound && !time.allowsFinalRound(1 + step.rest.length)) {
        await this.cutShort(outOfTime(this.#run));
        return 'over';
      }
      return this.#handedOut.final(server, step, this.#records.finals + 1);
    }
  }
}
