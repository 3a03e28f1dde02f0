import type { Clock } from '../base/clock.ts';
import { StudyFold } from '../study/fold.ts';
import type { Journal } from '../study/journal.ts';
import type { StudyRecord } from '../study/records.ts';
import type { StudyState } from '../study/state.ts';
import type { TunerEvent } from './seams.ts';

type Unstamped<R extends StudyRecord> = R extends StudyRecord ? Omit<R, 'at'> : never;

/** The one place through which a run says what happened: first to the journal, then to its own state, then to whoever watches. */
export class Ledger {
  readonly #journal: Pick<Journal, 'append'>;
  readonly #clock: Clock;
  readonly #emit: (event: TunerEvent) => void;
  readonly #fold = new StudyFold();
  #state: StudyState | null = null;
  #watcherFault: { readonly error: unknown } | null = null;

  constructor(
    journal: Pick<Journal, 'append'>,
    clock: Clock,
    emit: (event: TunerEvent) => void,
    earlier: readonly StudyRecord[],
  ) {
    this.#journal = journal;
    this.#clock = clock;
    this.#emit = emit;
    for (const record of earlier) this.#fold.add(record);
  }

  get state(): StudyState {
    this.#state ??= this.#fold.state();
    return this.#state;
  }

  /** What a watcher threw, if one did: it must not keep the run from restoring the model. */
  get watcherFault(): { readonly error: unknown } | null {
    return this.#watcherFault;
  }

  /** Resolves when the record is on the disk. Errors: those of the journal. */
  async record(unstamped: Unstamped<StudyRecord>): Promise<void> {
    const record = { at: new Date(this.#clock.wallMs()).toISOString(), ...unstamped } as StudyRecord;
    await this.#journal.append(record);
    this.#fold.add(record);
    this.#state = null;
    this.notify(record);
  }

  notify(event: TunerEvent): void {
    try {
      this.#emit(event);
    } catch (error) {
      this.#watcherFault ??= { error };
    }
  }
}
