import type { HeartbeatDetails } from '#fleet/temporal/server-worker.ts';
import type { FleetProgress } from '#fleet/workflow/seams.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { type DrawnChart, DrawnCharts, type PaperName } from './drawn-charts.ts';
import type { StudyView } from './view/study-view.ts';
import type { MatchingTrials, TrialQuery } from './view/trial-search.ts';
import type { StudyHead } from './view/watched.ts';
import { WatchedStudy } from './view/watched-study.ts';

/** The page's content apart from the studies' details. */
export interface BoardView {
  /** All studies, the newest first, including those whose records are not read. */
  readonly studies: readonly StudyHead[];
  /** Why the page may be out of date; null if all is well. */
  readonly trouble: string | null;
  /** True if the page may offer to steer studies. */
  readonly canSteer: boolean;
}

/** A message to viewers: the list of studies, or one of them. */
export type BoardMessage =
  | { readonly event: 'board'; readonly data: BoardView }
  | { readonly event: 'study'; readonly data: StudyView };

/** The name of the list of studies among the changed parts; no study has this name. */
export const THE_BOARD = '';

/**
 * Holds what all viewers see: the studies of a source, folded. Tells its listeners which part has
 * changed.
 */
export class Board {
  readonly #nowMs: () => number;
  readonly #canSteer: boolean;
  readonly #studies = new Map<string, WatchedStudy>();
  readonly #charts: DrawnCharts;
  readonly #listeners = new Set<(part: string) => void>();
  #heads: readonly StudyHead[] = [];
  #trouble: string | null = null;

  constructor(nowMs: () => number, { canSteer }: Pick<BoardView, 'canSteer'>) {
    this.#nowMs = nowMs;
    this.#charts = new DrawnCharts(nowMs);
    this.#canSteer = canSteer;
  }

  /** The parts with something to show. */
  get parts(): readonly string[] {
    return [THE_BOARD, ...this.#studies.keys()];
  }

  /** Returns the function that stops listening. */
  listen(listener: (part: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Sets the current studies. Forgets the records of others. */
  list(heads: readonly StudyHead[]): void {
    for (const name of this.#studies.keys()) if (!heads.some(({ study }) => study === name)) this.#studies.delete(name);
    for (const head of heads) {
      const study = this.#studies.get(head.study);
      if (study && study.head.status !== head.status) {
        study.head = head;
        this.#changed(head.study);
      }
    }
    const isNews = JSON.stringify(heads) !== JSON.stringify(this.#heads);
    this.#heads = heads;
    if (isNews) this.#changed(THE_BOARD);
  }

  /** Reports why the page may be out of date, or that all is well again. */
  trouble(reason: string | null): void {
    if (reason === this.#trouble) return;
    this.#trouble = reason;
    this.#changed(THE_BOARD);
  }

  /** Returns the number of known records of a study, from which a source continues. */
  known(study: string): number {
    return this.#studies.get(study)?.records ?? 0;
  }

  /** Errors: JOURNAL_INVALID for a record that contradicts the earlier ones. */
  take(study: string, record: StudyRecord): void {
    this.#of(study)?.take(record, this.#nowMs());
    this.#changed(study);
  }

  /** Forgets the records of a study, because its journal has been replaced. */
  forget(study: string): void {
    this.#drop(study);
    this.#changed(study);
  }

  /** Sets what servers do now; null if no one answers. */
  progress(study: string, progress: FleetProgress | null): void {
    if (this.#of(study)?.setProgress(progress)) this.#changed(study);
  }

  heartbeat(study: string, details: HeartbeatDetails): void {
    if (this.#of(study)?.beat(details)) this.#changed(study);
  }

  /** Reports why a study may be out of date, or that all is well with it again. */
  doubt(study: string, reason: string | null): void {
    const watchedStudy = this.#of(study);
    if (!watchedStudy || watchedStudy.trouble === reason) return;
    watchedStudy.trouble = reason;
    this.#changed(study);
  }

  /** Returns the message to viewers about a part; null if there is none. */
  message(part: string): BoardMessage | null {
    if (part === THE_BOARD)
      return {
        event: 'board',
        data: { studies: this.#heads, trouble: this.#trouble, canSteer: this.#canSteer },
      };
    const data = this.#studies.get(part)?.view(this.#nowMs());
    return data ? { event: 'study', data } : null;
  }

  /** Returns the front of a study; null if nothing was measured. */
  chart(name: string, paper: PaperName): DrawnChart | null {
    const study = this.#studies.get(name);
    return study ? this.#charts.of(name, study, paper) : null;
  }

  /** Returns the trials of a study that match; null if its records are not read. */
  find(name: string, query: TrialQuery): MatchingTrials | null {
    return this.#studies.get(name)?.find(query, this.#nowMs()) ?? null;
  }

  #of(name: string): WatchedStudy | undefined {
    const known = this.#studies.get(name);
    const head = this.#heads.find(({ study }) => study === name);
    if (known || !head) return known;
    const study = new WatchedStudy(head);
    this.#studies.set(name, study);
    return study;
  }

  #drop(name: string): void {
    this.#studies.delete(name);
    this.#charts.forget(name);
  }

  #changed(part: string): void {
    for (const listener of this.#listeners) listener(part);
  }
}
