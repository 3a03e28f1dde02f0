import type { Trial } from '../study/types.ts';
import { frontTrials } from './figures.ts';
import type { Command } from './keys.ts';
import type { ViewState } from './state.ts';

export const sortOrders = ['number', 'throughput', 'latency'] as const;
export type SortOrder = (typeof sortOrders)[number];

/** What is asked of the person; keys then mean answers. */
export type Question = { readonly kind: 'quit' } | { readonly kind: 'budget'; readonly text: string };

/** What the person has done to the screen: where they look, and what they are asked. */
export interface Interaction {
  /** Number of the trial that is looked at; null: the best so far, as it changes. */
  readonly selected: number | null;
  /** The trial that the selected one is compared with, instead of the original. */
  readonly marked: number | null;
  readonly sort: SortOrder;
  readonly onlyFront: boolean;
  readonly page: 'overview' | 'trial' | 'help';
  readonly question: Question | null;
}

export const initialInteraction: Interaction = {
  selected: null,
  marked: null,
  sort: 'number',
  onlyFront: false,
  page: 'overview',
  question: null,
};

/** Pure: what a key's command does to the screen itself; what it asks of the run is `requestOf`'s matter. */
export function interact(now: Interaction, command: Command, view: ViewState): Interaction {
  switch (command.name) {
    case 'move':
      return { ...now, selected: moved(now, command.by, view) };
    case 'sort':
      return { ...now, sort: after(sortOrders, now.sort) };
    case 'front':
      return { ...now, onlyFront: !now.onlyFront };
    case 'mark':
      return { ...now, marked: now.marked === null ? (selectedTrial(now, view)?.number ?? null) : null };
    case 'page':
      return { ...now, page: now.page === command.page ? 'overview' : command.page };
    case 'back':
      return now.page === 'overview' ? { ...now, selected: null, marked: null } : { ...now, page: 'overview' };
    case 'ask-quit':
      return { ...now, question: { kind: 'quit' } };
    case 'ask-budget':
      return { ...now, question: { kind: 'budget', text: String(view.study?.goal.budget?.latencyMs ?? '') } };
    case 'type':
      return now.question?.kind === 'budget' ? { ...now, question: typed(now.question.text, command.text) } : now;
    case 'cancel':
    case 'quit':
    case 'stop-search':
    case 'accept-budget':
      return { ...now, question: null };
    default:
      return now;
  }
}

/** A character more, or with a backspace one less. */
function typed(text: string, more: string): Question {
  const next = more === '\b' ? text.slice(0, -1) : text + more;
  return { kind: 'budget', text: /^\d{0,7}\.?\d{0,4}$/.test(next) ? next : text };
}

/** The trials in the order of the table. */
export function listed({ sort, onlyFront }: Interaction, { study }: ViewState): readonly Trial[] {
  if (!study) return [];
  const front = onlyFront ? frontTrials(study) : null;
  const trials = front ? study.trials.filter(({ number }) => front.has(number)) : study.trials;
  if (sort === 'number') return trials;
  // A trial without figures comes last, whatever the order.
  const key = (trial: Trial): number => {
    const measurement = trial.chosen === null ? undefined : trial.measurements[trial.chosen];
    if (!measurement) return Number.POSITIVE_INFINITY;
    return sort === 'throughput' ? -measurement.throughput.value : measurement.budgetLatencyMs.value;
  };
  return [...trials].sort((a, b) => key(a) - key(b) || a.number - b.number);
}

/** The trial that is looked at: the one chosen, else the best. */
export function selectedTrial({ selected }: Interaction, { study }: ViewState): Trial | null {
  if (!study) return null;
  return study.trials.find(({ number }) => number === selected) ?? study.best ?? study.trials[0] ?? null;
}

function moved(now: Interaction, by: number, view: ViewState): number | null {
  const trials = listed(now, view);
  const at = trials.findIndex(({ number }) => number === selectedTrial(now, view)?.number);
  const next = Math.min(trials.length - 1, Math.max(0, at + by));
  return trials[next]?.number ?? now.selected;
}

const after = <T>(values: readonly T[], value: T): T => values[(values.indexOf(value) + 1) % values.length] as T;
