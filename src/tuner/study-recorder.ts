import type { Clock } from '#base/clock.ts';
import { asTrituneError, type TrituneError } from '#base/errors.ts';
import { nsToMs } from '#base/units.ts';
import { StudyFold } from '#study/records/fold.ts';
import type { Journal } from '#study/records/journal.ts';
import type { StudyRecord } from '#study/records/records.ts';
import type { StudyState } from '#study/records/state.ts';
import { latestChange, reportedBy } from '#study/speed/changes.ts';
import type { EstimateSpeeds } from '#study/speed/speeds.ts';
import type { TunerEvent } from './seams.ts';

type Unstamped<R extends StudyRecord> = R extends StudyRecord ? Omit<R, 'at' | 'runMs'> : never;

/**
 * The only place through which a run reports what happened: first to the journal, then to its own
 * state, then to its observers.
 */
export class StudyRecorder {
  readonly #journal: Pick<Journal, 'append'>;
  readonly #clock: Clock;
  readonly #emit: ((event: TunerEvent) => void) | null;
  readonly #startNs: number;
  readonly #fold: StudyFold;
  #state: StudyState | null = null;
  #last: Promise<unknown> = Promise.resolve();
  /** The machine's speed as observers know it, as a multiple of that at the first measurement. */
  #reportedSpeed = 1;
  #watcherFault: { readonly error: unknown } | null = null;

  /** `emit`: null without observers. */
  constructor(
    journal: Pick<Journal, 'append'>,
    clock: Clock,
    emit: ((event: TunerEvent) => void) | null,
    earlier: readonly StudyRecord[],
    estimateSpeeds?: EstimateSpeeds,
  ) {
    this.#fold = new StudyFold(estimateSpeeds);
    this.#journal = journal;
    this.#clock = clock;
    this.#emit = emit;
    this.#startNs = clock.nowNs();
    for (const record of earlier) this.#fold.add(record);
  }

  get state(): StudyState {
    this.#state ??= this.#fold.state();
    return this.#state;
  }

  /** The error of an observer, if one threw: it must not keep the run from restoring the model. */
  get watcherFault(): { readonly error: unknown } | null {
    return this.#watcherFault;
  }

  /** Writes a record; resolves when it is on the disk. Errors: those of the journal. */
  record(unstamped: Unstamped<StudyRecord>): Promise<void> {
    const written = this.#write(this.#stamped(unstamped));
    this.#last = written.catch(() => undefined);
    return written;
  }

  /**
   * Resolves when the state includes everything recorded so far: the user's commands are recorded
   * concurrently with the loop.
   */
  async settled(): Promise<void> {
    for (let seen: Promise<unknown> | null = null; seen !== this.#last; ) {
      seen = this.#last;
      await seen;
    }
  }

  async #write(record: StudyRecord): Promise<void> {
    await this.#journal.append(record);
    this.#take(record);
  }

  /**
   * As `record`, for the end of a run: observers are told even if the record cannot be written.
   * Returns the fault of the journal, if any.
   */
  async conclude(unstamped: Unstamped<StudyRecord>): Promise<TrituneError | null> {
    const record = this.#stamped(unstamped);
    const fault = await this.#journal.append(record).then(() => null, asTrituneError);
    this.#take(record);
    return fault;
  }

  #stamped(unstamped: Unstamped<StudyRecord>): StudyRecord {
    const runMs = Math.round(nsToMs(this.#clock.nowNs() - this.#startNs));
    return { at: new Date(this.#clock.wallMs()).toISOString(), runMs, ...unstamped } as StudyRecord;
  }

  #take(record: StudyRecord): void {
    this.#fold.add(record);
    this.#state = null;
    this.notify(record);
    if (record.type === 'trial-measured' || record.type === 'final-measured') this.#tellSpeed();
  }

  #tellSpeed(): void {
    // In a study over many servers, the speed costs more than everything else.
    if (!this.#emit) return;
    const { speeds } = this.state;
    const change = latestChange(this.#reportedSpeed, speeds);
    if (!change) return;
    this.#reportedSpeed = reportedBy(change, speeds);
    this.notify({ type: 'speed-changed', ...change, usual: speeds.usual });
  }

  notify(event: TunerEvent): void {
    try {
      this.#emit?.(event);
    } catch (error) {
      this.#watcherFault ??= { error };
    }
  }
}
