import { formatMessage } from '#base/errors.ts';
import type { Trial } from '#study/types.ts';
import type { TunerEvent } from '#tuner/seams.ts';
import type { TunerCommands } from '#tuner/steering.ts';
import type { Abilities, Command } from './commands.ts';
import type { Scene } from './frame.ts';
import { type Interaction, initialInteraction, interact, selectedTrial } from './interaction.ts';
import { request } from './request.ts';
import type { ViewFold, ViewState } from './state.ts';

/** The screen's access to the outside. */
export interface Reach {
  /** null if there is no run to steer. */
  readonly commands: TunerCommands | null;
  /** Ends the run in order; a second call ends the process. */
  readonly interrupt: () => void;
  /** Writes the trial's config. Resolves to the path. */
  readonly exportConfig: (trial: Trial) => Promise<string>;
  readonly elsewhere?: Abilities['elsewhere'];
}

/** The maximum number of frames per second. */
const MAX_FRAMES = 12;
const NOTICE_MS = 8_000;
const TICK_MS = 1_000;

/**
 * The screen's state over time. Takes events and commands, and notifies its one listener of new
 * scenes, at a limited rate.
 */
export class Store {
  readonly #reach: Reach;
  readonly #fold: ViewFold;
  readonly #nowMs: () => number;
  readonly #left = Promise.withResolvers<void>();
  readonly #ticker: NodeJS.Timeout;
  #interaction: Interaction = initialInteraction;
  #abilities: Abilities;
  #scene: Scene | null = null;
  #listener: () => void = () => undefined;
  #pending: NodeJS.Timeout | null = null;
  #notice: { readonly text: string; readonly endMs: number } | null = null;
  /** The time of the last record, from which the study's time continues by itself. */
  #countedMs: number;

  constructor(fold: ViewFold, reach: Reach, nowMs: () => number = () => performance.now()) {
    this.#fold = fold;
    this.#reach = reach;
    this.#nowMs = nowMs;
    this.#countedMs = nowMs();
    const { commands, elsewhere } = reach;
    this.#abilities = { phase: commands ? 'live' : 'over', canExport: true, elsewhere };
    this.#ticker = setInterval(() => this.#tick(), TICK_MS);
    this.#ticker.unref();
  }

  /** Resolves when the person closes the screen of a finished run. */
  get left(): Promise<void> {
    return this.#left.promise;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listener = listener;
    return () => {
      this.#listener = () => undefined;
    };
  };

  /** Returns the same object between two frames, however much happens meanwhile. */
  readonly scene = (): Scene => {
    this.#scene ??= this.#newScene();
    return this.#scene;
  };

  onEvent(event: TunerEvent): void {
    this.#fold.add(event);
    // The request to pause has been met, or another screen has met it.
    if (event.type === 'study-paused' || event.type === 'study-continued')
      this.#interaction = { ...this.#interaction, wantsPause: false };
    if ('at' in event) this.#countedMs = this.#nowMs();
    this.#renew();
  }

  tell(text: string): void {
    this.#notice = { text, endMs: this.#nowMs() + NOTICE_MS };
    this.#renew();
  }

  /** Marks the run as ended; the screen only shows it from now on. */
  end(notice: string): void {
    clearInterval(this.#ticker);
    this.#notice = { text: notice, endMs: Number.POSITIVE_INFINITY };
    this.#abilities = { ...this.#abilities, phase: 'over' };
    this.#interaction = { ...this.#interaction, question: null };
    this.#renew();
  }

  close(): void {
    clearInterval(this.#ticker);
    if (this.#pending) clearTimeout(this.#pending);
  }

  onCommand(command: Command): void {
    const view = this.#fold.view();
    this.#notice = null;
    const answer = this.#answer(command, view);
    if (answer !== null) this.tell(answer);
    this.#interaction = interact(this.#interaction, command, view);
    this.flush();
  }

  /** Shows the scene now. */
  flush(): void {
    if (this.#pending) clearTimeout(this.#pending);
    this.#pending = null;
    this.#scene = null;
    this.#listener();
  }

  /**
   * Does what the command asks for outside the screen. Returns the message for the person, if any.
   */
  #answer(command: Command, view: ViewState): string | null {
    if (command.name === 'quit' || command.name === 'interrupt') this.#leave();
    if (command.name === 'export') this.#export(selectedTrial(this.#interaction, view));
    if (command.name === 'not-now') return command.reason;
    return this.#reach.commands && request(command, view, this.#interaction, this.#reach.commands);
  }

  #leave(): void {
    if (this.#abilities.phase === 'over') this.#left.resolve();
    else {
      this.#abilities = { ...this.#abilities, phase: 'stopping' };
      this.#reach.interrupt();
    }
  }

  #export(trial: Trial | null): void {
    if (!trial) return;
    this.#reach.exportConfig(trial).then(
      (path) => this.tell(`written: ${path}`),
      (error: unknown) => this.tell(formatMessage(error)),
    );
  }

  /**
   * Time alone only changes a run's clock and removes notices. If neither is due, draws nothing.
   */
  #tick(): void {
    const nowMs = this.#nowMs();
    const isNoticeOver = this.#notice !== null && this.#notice.endMs < nowMs;
    if (isNoticeOver) this.#notice = null;
    if (isNoticeOver || !this.#stands(this.#fold.view())) this.#renew();
  }

  #renew(): void {
    this.#pending ??= setTimeout(() => this.flush(), 1e3 / MAX_FRAMES);
  }

  #newScene(): Scene {
    const nowMs = this.#nowMs();
    const view = this.#viewNow();
    return {
      view,
      interaction: this.#interaction,
      abilities: this.#abilities,
      notice: this.#notice?.text ?? null,
      elapsedSeconds: this.#elapsedSeconds(view, nowMs),
    };
  }

  /** A study that is only viewed is not under way. */
  #viewNow(): ViewState {
    const view = this.#fold.view();
    return this.#reach.commands ? view : { ...view, activity: { kind: 'finished' }, isPaused: false };
  }

  #elapsedSeconds(view: ViewState, nowMs: number): number {
    return this.#fold.elapsedSeconds + (this.#stands(view) ? 0 : (nowMs - this.#countedMs) / 1e3);
  }

  /** True if the study's time stands still. */
  #stands({ study, isPaused }: ViewState): boolean {
    return study === null || study.finished !== null || isPaused || this.#reach.commands === null;
  }
}
