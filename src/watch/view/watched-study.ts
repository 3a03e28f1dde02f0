import type { HeartbeatDetails } from '#fleet/temporal/server-worker.ts';
import type { FleetProgress } from '#fleet/workflow/seams.ts';
import type { Chart } from '#report/charts/svg.ts';
import { studyFront } from '#report/page/charts.ts';
import { StudyFold } from '#study/records/fold.ts';
import type { StudyRecord } from '#study/records/records.ts';
import type { StudyState } from '#study/records/state.ts';
import { type StudyView, studyView } from './study-view.ts';
import { findTrials, type MatchingTrials, type TrialQuery } from './trial-search.ts';
import type { StudyHead, Watched } from './watched.ts';
import { AT_WORK, momentAfter, type WorkMoment } from './work-moment.ts';

/** One watched study: its folded records, and what its servers do at the moment. */
export class WatchedStudy {
  head: StudyHead;
  /** Why the study may be out of date; null if all is well. */
  trouble: string | null = null;
  #fold = new StudyFold();
  #records = 0;
  #state: StudyState | null = null;
  /** When the last record came, by the viewer's clock. */
  #recordMs = 0;
  /** The server that each trial was last given to. */
  readonly #serverByTrial = new Map<number, string>();
  /** Finished trials, in the order in which they ended. */
  readonly #finished: number[] = [];
  #progress: FleetProgress | null = null;
  readonly #moments = new Map<string, WorkMoment>();

  constructor(head: StudyHead) {
    this.head = head;
  }

  get records(): number {
    return this.#records;
  }

  /** Errors: JOURNAL_INVALID for a record that contradicts the earlier ones. */
  take(record: StudyRecord, nowMs: number): void {
    this.#fold.add(record);
    this.#records++;
    this.#state = null;
    this.#recordMs = nowMs;
    if (record.type === 'trial-started' && record.server !== undefined)
      this.#serverByTrial.set(record.trial, record.server);
    if (record.type === 'trial-finished') this.#finish(record.trial);
  }

  /** The original config may be visited again. */
  #finish(trial: number): void {
    const before = this.#finished.indexOf(trial);
    if (before >= 0) this.#finished.splice(before, 1);
    this.#finished.push(trial);
  }

  /** Returns true if it is news. */
  setProgress(progress: FleetProgress | null): boolean {
    const isNews = JSON.stringify(progress) !== JSON.stringify(this.#progress);
    this.#progress = progress;
    const running = new Set(progress?.running.map(({ id }) => id));
    for (const id of this.#moments.keys()) if (!running.has(id)) this.#moments.delete(id);
    return isNews;
  }

  /** Returns true if it is news. */
  beat({ work, event }: HeartbeatDetails): boolean {
    if (work === undefined) return false;
    const before = this.#moments.get(work) ?? AT_WORK;
    const after = event ? momentAfter(before, event) : before;
    this.#moments.set(work, after);
    return after !== before;
  }

  /** The front so far; null if nothing was measured. */
  get front(): Chart | null {
    const state = this.#now;
    return state && studyFront(state);
  }

  view(nowMs: number): StudyView {
    return studyView(this.#watched(nowMs));
  }

  /** Returns the finished trials that match. */
  find(query: TrialQuery, nowMs: number): MatchingTrials {
    const state = this.#now;
    return state ? findTrials(state, this.#watched(nowMs), query) : { total: 0, matching: 0, trials: [] };
  }

  #watched(nowMs: number): Watched {
    return {
      head: this.head,
      trouble: this.trouble,
      state: this.#now,
      records: this.#records,
      progress: this.#progress,
      moments: this.#moments,
      serverByTrial: this.#serverByTrial,
      finished: this.#finished,
      sinceRecordSeconds: (nowMs - this.#recordMs) / 1e3,
    };
  }

  get #now(): StudyState | null {
    if (this.#records > 0) this.#state ??= this.#fold.state();
    return this.#state;
  }
}
