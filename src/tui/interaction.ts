import type { Narrowing } from '../space/narrowing.ts';
import type { Assignment } from '../space/types.ts';
import type { Trial } from '../study/types.ts';
import { withNextValue } from './by-hand.ts';
import type { Command } from './commands.ts';
import { figuresOf, frontTrials } from './figures.ts';
import { narrowBy, parametersOf } from './parameters.ts';
import type { ViewState } from './state.ts';

export const sortOrders = ['number', 'throughput', 'latency'] as const;
export type SortOrder = (typeof sortOrders)[number];

/** The question to the person, or the open panel of parameters. Keys are answers meanwhile. */
export type Question =
  | { readonly kind: 'quit' }
  | { readonly kind: 'budget'; readonly text: string }
  | SpaceQuestion
  | HandQuestion;

/** Which values to search. `narrowing` is the last request; the study adopts it a moment later. */
export interface SpaceQuestion {
  readonly kind: 'space';
  readonly row: number;
  readonly column: number;
  readonly narrowing: Narrowing;
}

/** Which candidate to try. */
export interface HandQuestion {
  readonly kind: 'hand';
  readonly row: number;
  readonly assignment: Assignment;
  /** The trial that the choices started from. */
  readonly from: number;
}

/** What the person has done with the screen: the selection, and the open question. */
export interface Interaction {
  /** Number of the selected trial; null follows the best so far. */
  readonly selected: number | null;
  /** The trial to compare the selected one with, instead of the original. */
  readonly marked: number | null;
  readonly sort: SortOrder;
  readonly onlyFront: boolean;
  readonly page: 'overview' | 'trial' | 'help';
  readonly question: Question | null;
  /** True if asked to pause; the run pauses after its current measurement. */
  readonly wantsPause: boolean;
}

export const initialInteraction: Interaction = {
  selected: null,
  marked: null,
  sort: 'number',
  onlyFront: false,
  page: 'overview',
  question: null,
  wantsPause: false,
};

/** Returns the screen's own state after a key's command. Pure. `request.ts` handles what the command asks of the run. */
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
    case 'ask-space':
      return asked(now, view.study && { kind: 'space', row: 0, column: 0, narrowing: view.study.narrowing });
    case 'ask-hand': {
      const from = selectedTrial(now, view);
      const assignment = from?.candidate.assignment ?? {};
      return asked(now, { kind: 'hand', row: 0, assignment, from: from?.number ?? 0 });
    }
    case 'step':
    case 'pin':
    case 'exclude':
    case 'free':
      return asked(now, now.question && answered(now.question, command, view));
    case 'pause':
      return { ...now, wantsPause: !wantsPause(now, view) };
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

const asked = (now: Interaction, question: Question | null): Interaction => ({ ...now, question });

/** Returns the panel of parameters after a key in it. */
function answered(question: Question, command: Command, { study }: ViewState): Question {
  if (!study) return question;
  const parameters = parametersOf(study);
  if (question.kind === 'hand' && command.name === 'step') {
    const row = within(question.row + command.rows, parameters.length);
    const { assignment } = question;
    return command.values === 0
      ? { ...question, row }
      : { ...question, assignment: withNextValue(study, assignment, row, command.values) };
  }
  if (question.kind !== 'space') return question;
  if (command.name === 'step') {
    const row = within(question.row + command.rows, parameters.length);
    const column = within(question.column + command.values, parameters[row]?.values.length ?? 0);
    return { ...question, row, column };
  }
  if (command.name !== 'pin' && command.name !== 'exclude' && command.name !== 'free') return question;
  const narrowed = narrowBy(study, question.narrowing, question, command.name);
  return 'refused' in narrowed ? question : { ...question, narrowing: narrowed.narrowing };
}

const within = (index: number, count: number): number => Math.max(0, Math.min(count - 1, index));

/** Adds a character, or removes one for a backspace. */
function typed(text: string, more: string): Question {
  const next = more === '\b' ? text.slice(0, -1) : text + more;
  return { kind: 'budget', text: /^\d{0,7}\.?\d{0,4}$/.test(next) ? next : text };
}

/** Returns the trials in the order of the table. */
export function listed({ sort, onlyFront }: Interaction, { study }: ViewState): readonly Trial[] {
  if (!study) return [];
  const front = onlyFront ? frontTrials(study) : null;
  const trials = front ? study.trials.filter(({ number }) => front.has(number)) : study.trials;
  if (sort === 'number') return trials;
  // A trial without figures always comes last.
  const key = (trial: Trial): number => {
    const measurement = figuresOf(study, trial);
    if (!measurement) return Number.POSITIVE_INFINITY;
    return sort === 'throughput' ? -measurement.throughput.value : measurement.budgetLatencyMs.value;
  };
  return [...trials].sort((a, b) => key(a) - key(b) || a.number - b.number);
}

/** Returns the selected trial: the chosen one, else the best. */
export function selectedTrial({ selected }: Interaction, { study }: ViewState): Trial | null {
  if (!study) return null;
  return study.trials.find(({ number }) => number === selected) ?? study.best ?? study.trials[0] ?? null;
}

function moved(now: Interaction, by: number, view: ViewState): number | null {
  const trials = listed(now, view);
  const at = trials.findIndex(({ number }) => number === selectedTrial(now, view)?.number);
  return trials[within(at + by, trials.length)]?.number ?? now.selected;
}

const after = <T>(values: readonly T[], value: T): T => values[(values.indexOf(value) + 1) % values.length] as T;

/** True if the study is paused or was asked to pause, also by an earlier viewer. */
export const wantsPause = ({ wantsPause: asked }: Interaction, { isPaused }: Pick<ViewState, 'isPaused'>): boolean =>
  asked || isPaused;
