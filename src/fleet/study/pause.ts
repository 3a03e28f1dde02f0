import type { Planning } from '#tuner/run.ts';

/** How a person steers a study. */
export interface Steered {
  /** True while no new work is handed out. */
  readonly isPaused: boolean;
  /** True if the search is over; the final follows. */
  readonly stopsSearch: boolean;
}

/** Steers a study whose servers are elsewhere, and records its pauses. */
export class StudyPause {
  readonly #run: Pick<Planning, 'recorder' | 'steering' | 'time'>;
  #lasting: { readonly end: () => void; readonly passed: Promise<void> } | null = null;

  constructor(run: Pick<Planning, 'recorder' | 'steering' | 'time'>) {
    this.#run = run;
  }

  /**
   * Begins a pause once nothing is under way (`isQuiet`), because paused time does not count.
   * Errors: those of the journal.
   */
  async steer({ isPaused, stopsSearch }: Steered, isQuiet: boolean): Promise<void> {
    const { steering } = this.#run;
    if (stopsSearch) steering.stopSearch();
    else if (isPaused) steering.pause();
    else steering.resume();
    if (steering.isPaused && isQuiet) await this.#begin();
    else if (!steering.isPaused) await this.#end();
  }

  async #begin(): Promise<void> {
    if (this.#lasting) return;
    const { recorder, time } = this.#run;
    await recorder.record({ type: 'study-paused' });
    const { promise, resolve: end } = Promise.withResolvers<void>();
    this.#lasting = { end, passed: time.pass(() => promise) };
  }

  async #end(): Promise<void> {
    if (!this.#lasting) return;
    const { end, passed } = this.#lasting;
    this.#lasting = null;
    end();
    await passed;
    await this.#run.recorder.record({ type: 'study-continued' });
  }
}
