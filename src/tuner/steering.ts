import type { Narrowing } from '../space/narrowing.ts';
import type { Wish } from '../study/types.ts';

/** What a person may ask of a run under way. Nothing is done in the middle of a load. */
export interface TunerCommands {
  /** From the next step on nothing is loaded or measured; the time does not count. */
  pause(): void;
  resume(): void;
  /** Leaves the trial under way, unless it is the baseline; what it has measured counts. */
  skipTrial(): void;
  /** Ends the search with its trial under way; the final between the best and the baseline follows. */
  stopSearch(): void;
  /** From now on the best within this budget is looked for, and what was measured is ranked anew. */
  changeBudget(latencyMs: number): void;
  /** From the next proposal on only this part of the search space is searched; it takes the place of an earlier narrowing. */
  narrow(narrowing: Narrowing): void;
  /** A trial to run next, before the sampler is asked again; it runs even where a limit of trials is reached. */
  enqueue(wish: Wish): void;
  /** Takes such a wish back, the one asked for last where there are several; nothing where it has begun meanwhile. */
  withdraw(wish: Wish): void;
}

/** What becomes a record of the study as soon as it is asked for. */
export type StudyChange =
  | { readonly kind: 'budget'; readonly latencyMs: number }
  | { readonly kind: 'narrowing'; readonly narrowing: Narrowing }
  | { readonly kind: 'wish' | 'withdrawal'; readonly wish: Wish };

/** What a person asks of a study that another process conducts. */
export type SteeringCommand = StudyChange | { readonly kind: 'pause' | 'resume' | 'stop-search' };

/** Between the person and the loop: takes commands at any time; the loop polls it between its steps. */
export class Steering implements TunerCommands {
  #isPaused = false;
  #resumed: (() => void) | null = null;
  #stopsSearch = false;
  #trial: AbortController | null = null;
  #onChange: ((change: StudyChange) => void) | null = null;
  /** Asked for before anyone listened: a study that is resumed is on the screen before its server is reached. */
  #unheard: StudyChange[] = [];

  #passOn: ((command: SteeringCommand) => void) | null = null;

  pause(): void {
    this.#isPaused = true;
    this.#passOn?.({ kind: 'pause' });
  }

  resume(): void {
    this.#passOn?.({ kind: 'resume' });
    this.#isPaused = false;
    this.#resumed?.();
  }

  skipTrial(): void {
    this.#trial?.abort('skipped');
  }

  stopSearch(): void {
    this.#stopsSearch = true;
    this.#passOn?.({ kind: 'stop-search' });
    if (this.#isPaused) this.resume();
    this.skipTrial();
  }

  changeBudget(latencyMs: number): void {
    this.#change({ kind: 'budget', latencyMs });
  }

  narrow(narrowing: Narrowing): void {
    this.#change({ kind: 'narrowing', narrowing });
  }

  enqueue(wish: Wish): void {
    this.#change({ kind: 'wish', wish });
  }

  withdraw(wish: Wish): void {
    this.#change({ kind: 'withdrawal', wish });
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  get stopsSearch(): boolean {
    return this.#stopsSearch;
  }

  /** Resolves when the person goes on; rejects with the signal's reason. */
  untilResumed(signal: AbortSignal): Promise<void> {
    if (!this.#isPaused) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const onAbort = (): void => reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#resumed = () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      if (signal.aborted) onAbort();
    });
  }

  /** Aborts when the person leaves the trial that begins now. */
  beginTrial(): AbortSignal {
    this.#trial = new AbortController();
    return this.#trial.signal;
  }

  endTrial(): void {
    this.#trial = null;
  }

  /** Sets the listener for changes of the study; it first gets the changes that no listener has received. null removes it. */
  listen(onChange: ((change: StudyChange) => void) | null): void {
    this.#onChange = onChange;
    if (onChange) for (const change of this.#unheard.splice(0)) onChange(change);
  }

  /** From here on all is passed on to where the study is conducted, which another process does. */
  passOn(to: (command: SteeringCommand) => void): void {
    this.#passOn = to;
    this.listen(to);
  }

  #change(change: StudyChange): void {
    if (this.#onChange) this.#onChange(change);
    else this.#unheard.push(change);
  }
}
