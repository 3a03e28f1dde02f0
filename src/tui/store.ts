import { messageOf } from '../base/errors.ts';
import type { Trial } from '../study/types.ts';
import type { TunerEvent } from '../tuner/seams.ts';
import type { TunerCommands } from '../tuner/steering.ts';
import type { Scene } from './frame.ts';
import { initialInteraction, interact, selectedTrial } from './interaction.ts';
import type { Command } from './keys.ts';
import { reduce, type ViewState } from './state.ts';

/** What the screen can ask for outside itself. */
export interface Reach {
  /** null where there is no run to steer. */
  readonly commands: TunerCommands | null;
  /** Ends the run at once, in order; a second time ends the process. */
  readonly interrupt: () => void;
  /** Writes the trial's config; resolves to the path. */
  readonly exportConfig: (trial: Trial) => Promise<string>;
}

/** At most so many frames per second. */
const MOST_FRAMES = 12;
const NOTICE_MS = 8_000;
const TICK_MS = 1_000;

/** The screen's state over time: takes events and commands, and tells its one listener, not too often, that there is a new scene. */
export class Store {
  readonly #reach: Reach;
  readonly #nowMs: () => number;
  readonly #left = Promise.withResolvers<void>();
  readonly #ticker: NodeJS.Timeout;
  #scene: Scene;
  #listener: () => void = () => undefined;
  #pending: NodeJS.Timeout | null = null;
  #wantsPause = false;
  #notice: { readonly text: string; readonly endMs: number } | null = null;
  /** Seconds of the study at the last record, and when that came. */
  #counted = { seconds: 0, atMs: 0 };

  constructor(view: ViewState, reach: Reach, nowMs: () => number = () => performance.now()) {
    this.#reach = reach;
    this.#nowMs = nowMs;
    this.#counted = { seconds: view.study?.elapsedSeconds ?? 0, atMs: nowMs() };
    const abilities = { phase: reach.commands ? 'live' : 'over', canExport: true } as const;
    this.#scene = {
      view,
      interaction: initialInteraction,
      abilities,
      notice: null,
      elapsedSeconds: this.#counted.seconds,
    };
    this.#ticker = setInterval(() => this.#renew({}), TICK_MS);
    this.#ticker.unref();
  }

  /** Resolves when the person closes the screen of a run that is over. */
  get left(): Promise<void> {
    return this.#left.promise;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listener = listener;
    return () => {
      this.#listener = () => undefined;
    };
  };

  readonly scene = (): Scene => this.#scene;

  onEvent(event: TunerEvent): void {
    const view = reduce(this.#scene.view, event);
    if ('at' in event) this.#counted = { seconds: view.study?.elapsedSeconds ?? 0, atMs: this.#nowMs() };
    this.#renew({ view });
  }

  tell(text: string): void {
    this.#notice = { text, endMs: this.#nowMs() + NOTICE_MS };
    this.#renew({});
  }

  /** The run has ended: what is left is to look at it. */
  end(notice: string): void {
    clearInterval(this.#ticker);
    this.#notice = { text: notice, endMs: Number.POSITIVE_INFINITY };
    this.#renew({
      abilities: { ...this.#scene.abilities, phase: 'over' },
      interaction: { ...this.#scene.interaction, question: null },
    });
  }

  close(): void {
    clearInterval(this.#ticker);
    if (this.#pending) clearTimeout(this.#pending);
  }

  onCommand(command: Command): void {
    const { interaction, view } = this.#scene;
    this.#notice = null;
    const answer = this.#request(command);
    if (answer !== null) this.tell(answer);
    this.#renew({ interaction: interact(interaction, command, view) });
    this.flush();
  }

  /** Does what the command asks of the run; returns what to tell the person, if anything. */
  #request(command: Command): string | null {
    const { view, interaction } = this.#scene;
    const trial = selectedTrial(interaction, view);
    switch (command.name) {
      case 'interrupt':
      case 'quit':
        this.#leave();
        return null;
      case 'pause':
        return this.#togglePause();
      case 'skip':
        return this.#skip();
      case 'again':
        return this.#measureAgain(trial);
      case 'accept-budget':
        return this.#changeBudget(interaction.question?.kind === 'budget' ? Number(interaction.question.text) : 0);
      case 'stop-search':
        this.#reach.commands?.stopSearch();
        return 'ending the search; the final follows';
      case 'export':
        if (trial) this.#export(trial);
        return null;
      default:
        return null;
    }
  }

  #leave(): void {
    const { abilities } = this.#scene;
    if (abilities.phase === 'over') this.#left.resolve();
    else {
      this.#renew({ abilities: { ...abilities, phase: 'stopping' } });
      this.#reach.interrupt();
    }
  }

  #togglePause(): string {
    this.#wantsPause = !this.#wantsPause;
    if (this.#wantsPause) this.#reach.commands?.pause();
    else this.#reach.commands?.resume();
    return this.#wantsPause ? 'pausing when this measurement is done' : 'going on';
  }

  #skip(): string {
    const running = this.#scene.view.study?.unfinished;
    if (!running || running.role === 'baseline') return 'only a trial of the search can be skipped';
    this.#reach.commands?.skipTrial();
    return `leaving trial ${running.number}${this.#scene.view.activity.kind === 'loading' ? ' when it is loaded' : ''}`;
  }

  #measureAgain(trial: Trial | null): string {
    const level = trial?.measurements[trial.chosen ?? 0]?.level.value;
    if (!trial || level === undefined) return 'this trial has no level to measure again';
    this.#reach.commands?.enqueue({
      assignment: trial.candidate.assignment,
      levels: { kind: 'fixed', values: [level] },
    });
    return `trial ${trial.number} will be measured again next, as a trial of its own`;
  }

  #changeBudget(latencyMs: number): string {
    if (!(latencyMs > 0)) return 'a budget is a number of milliseconds above 0';
    this.#reach.commands?.changeBudget(latencyMs);
    return `the budget is ${latencyMs} ms from here on`;
  }

  #export(trial: Trial): void {
    this.#reach.exportConfig(trial).then(
      (path) => this.tell(`written: ${path}`),
      (error: unknown) => this.tell(messageOf(error)),
    );
  }

  #renew(change: Partial<Scene>): void {
    const nowMs = this.#nowMs();
    if (this.#notice && this.#notice.endMs < nowMs) this.#notice = null;
    const scene = { ...this.#scene, ...change };
    this.#scene = {
      ...scene,
      notice: this.#notice?.text ?? null,
      elapsedSeconds: this.#elapsedSeconds(scene.view, nowMs),
    };
    this.#pending ??= setTimeout(() => this.flush(), 1e3 / MOST_FRAMES);
  }

  #elapsedSeconds({ study, isPaused }: ViewState, nowMs: number): number {
    const stands = study === null || study.finished !== null || isPaused || this.#reach.commands === null;
    return this.#counted.seconds + (stands ? 0 : (nowMs - this.#counted.atMs) / 1e3);
  }

  /** Shows the scene now. */
  flush(): void {
    if (this.#pending) clearTimeout(this.#pending);
    this.#pending = null;
    this.#listener();
  }
}
