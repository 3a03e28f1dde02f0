import type { ModelExplanation, ServiceExplanation } from '#explain/explanation.ts';
import type { LiveModel } from '#explain/live-view.ts';

/** What the page of a live service shows. */
export interface LiveView {
  /** Such as `triton 2.51.0`. */
  readonly server: string;
  readonly url: string;
  readonly budget: ServiceExplanation['budget'];
  /** Seconds since the first reading. */
  readonly seconds: number;
  /** The busiest first. */
  readonly models: readonly LiveModel[];
  /** The explanation of the selected model; null until there is one, or if it served nothing. */
  readonly explanation: ModelExplanation | null;
  /** Why there is none, or what went wrong lately; null if nothing did. */
  readonly note: string | null;
}

/** What the person chose. */
export interface LiveChoice {
  /** The name of a model; null for the busiest. */
  readonly model: string | null;
  readonly isPaused: boolean;
}

export const firstChoice: LiveChoice = { model: null, isPaused: false };

/** Returns the name of the model that is explained; null if there is none. */
export const findSelected = ({ models }: Pick<LiveView, 'models'>, { model }: LiveChoice): string | null =>
  models.some(({ name }) => name === model) ? model : (models[0]?.name ?? null);

/** Moves the choice down by this many models, or up. */
export function moveChoice(view: LiveView, choice: LiveChoice, by: number): LiveChoice {
  const names = view.models.map(({ name }) => name);
  const at = names.indexOf(findSelected(view, choice) ?? '');
  return { ...choice, model: names[Math.max(0, Math.min(names.length - 1, at + by))] ?? null };
}
