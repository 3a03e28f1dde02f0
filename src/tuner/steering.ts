import type { Narrowing } from '#space/narrowing.ts';
import type { Wish } from '#study/types.ts';

/** Commands of the user to a running study. None takes effect during a load. */
export interface TunerCommands {
  /** Loads and measures nothing from the next step on; the time does not count. */
  pause(): void;
  resume(): void;
  /** Leaves the running trial, unless it is the baseline; its measurements count. */
  skipTrial(): void;
  /**
   * Ends the search after the running trial; the final between the best and the baseline follows.
   */
  stopSearch(): void;
  /** Searches for the best within this budget from now on, and ranks earlier measurements again. */
  changeBudget(latencyMs: number): void;
  /**
   * Searches only this part of the search space from the next proposal on; replaces an earlier
   * narrowing.
   */
  narrow(narrowing: Narrowing): void;
  /**
   * Adds a trial to run next, before the sampler is asked again; it runs even if a limit of trials
   * is reached.
   */
  enqueue(wish: Wish): void;
  /**
   * Withdraws such a request, the last one if there are several; does nothing if it has begun
   * meanwhile.
   */
  withdraw(wish: Wish): void;
}

/** Commands that become records of the study at once. */
export type StudyChange =
  | { readonly kind: 'budget'; readonly latencyMs: number }
  | { readonly kind: 'narrowing'; readonly narrowing: Narrowing }
  | { readonly kind: 'wish' | 'withdrawal'; readonly wish: Wish };

/** Commands to a study that another process conducts. */
export type SteeringCommand = StudyChange | { readonly kind: 'pause' | 'resume' | 'stop-search' };

/**
 * Connects the user and the loop: takes commands at any time; the loop polls it between its steps.
 */
export class Steering implements TunerCommands {
  #isPaused = false;
  #resumed: (() => void) | null = null;
  #stopsSearch = false;
  #trial: AbortController | null = null;
  #onChange: ((change: StudyChange) => void) | null = null;
  /**
   * Changes requested before anyone listened: a resumed study is on the screen before its server is
   * reached.
   */
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

  /** Resolves when the user continues; rejects with the signal's reason. */
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

  /** Returns a signal that aborts when the user leaves the trial that begins now. */
  beginTrial(): AbortSignal {
    this.#trial = new AbortController();
    return this.#trial.signal;
  }

  endTrial(): void {
    this.#trial = null;
  }

  /**
   * Sets the listener for changes of the study; it first gets the changes that no listener has
   * received. null removes it.
   */
  listen(onChange: ((change: StudyChange) => void) | null): void {
    this.#onChange = onChange;
    if (onChange) for (const change of this.#unheard.splice(0)) onChange(change);
  }

  /** Passes everything on from here to the process that conducts the study. */
  passOn(to: (command: SteeringCommand) => void): void {
    this.#passOn = to;
    this.listen(to);
  }

  #change(change: StudyChange): void {
    if (this.#onChange) this.#onChange(change);
    else this.#unheard.push(change);
  }
}
