import type { Narrowing } from '#space/narrowing.ts';
import type { Assignment } from '#space/types.ts';
import type { Trial } from '#study/types.ts';
import { verdictOn, withNextValue } from './by-hand.ts';
import type { Command } from './commands.ts';
import { listParameters, narrowBy } from './parameters.ts';
import type { ViewState } from './state.ts';
import { byNumber, orderedTrials, type RowChoice, sortedBy, sortedByNext } from './table-order.ts';

/** The question to the person, or the open panel of parameters. Keys are answers meanwhile. */
export type Question =
  | { readonly kind: 'quit' }
  | { readonly kind: 'budget'; readonly text: string }
  | { readonly kind: 'filter' }
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

/**
 * What the person has done with the screen: the selection, the order of the table, and the open
 * question.
 */
export interface Interaction extends RowChoice {
  /** Number of the selected trial; null follows the best so far. */
  readonly selected: number | null;
  /** The trial to compare the selected one with, instead of the original. */
  readonly marked: number | null;
  readonly chart: 'front' | 'progress';
  readonly page: 'overview' | 'trial' | 'help';
  readonly question: Question | null;
  /** True if asked to pause; the run pauses after its current measurement. */
  readonly wantsPause: boolean;
}

export const initialInteraction: Interaction = {
  selected: null,
  marked: null,
  order: byNumber,
  onlyFront: false,
  filter: '',
  chart: 'front',
  page: 'overview',
  question: null,
  wantsPause: false,
};

/**
 * Returns the screen's own state after a key's command. Pure. `request.ts` handles what the command
 * asks of the run.
 */
export function interact(now: Interaction, command: Command, view: ViewState): Interaction {
  switch (command.name) {
    case 'move':
      return { ...now, selected: moved(now, command.by, view) };
    case 'select':
      return { ...now, selected: command.trial };
    case 'sort':
      return sorted(now, command.step, view);
    case 'sort-by':
      return { ...now, order: sortedBy(now.order, command.column) };
    case 'front':
      return { ...now, onlyFront: !now.onlyFront };
    case 'chart':
      return { ...now, chart: now.chart === 'front' ? 'progress' : 'front' };
    case 'mark':
      return { ...now, marked: now.marked === null ? (selectedTrial(now, view)?.number ?? null) : null };
    case 'page':
      return { ...now, page: now.page === command.page ? 'overview' : command.page };
    case 'back':
      return backFrom(now);
    case 'ask-filter':
      return { ...now, page: 'overview', question: { kind: 'filter' } };
    case 'clear-filter':
      return { ...now, filter: '', question: null };
    case 'ask-quit':
      return { ...now, question: { kind: 'quit' } };
    case 'ask-budget':
      return { ...now, question: { kind: 'budget', text: String(view.study?.goal.budget?.latencyMs ?? '') } };
    case 'ask-space':
      return withQuestion(now, view.study && { kind: 'space', row: 0, column: 0, narrowing: view.study.narrowing });
    case 'ask-hand': {
      const from = selectedTrial(now, view);
      const assignment = from?.candidate.assignment ?? {};
      return withQuestion(now, { kind: 'hand', row: 0, assignment, from: from?.number ?? 0 });
    }
    case 'step':
    case 'pin':
    case 'exclude':
    case 'free':
      return withQuestion(now, now.question && answered(now.question, command, view));
    case 'pause':
      return { ...now, wantsPause: !wantsPause(now, view) };
    case 'type':
      return typed(now, command.text);
    case 'cancel':
    case 'quit':
    case 'stop-search':
    case 'accept-budget':
    case 'accept-filter':
      return { ...now, question: null };
    case 'try':
      return isQueued(now.question, view) ? { ...now, question: null } : now;
    default:
      return now;
  }
}

const withQuestion = (now: Interaction, question: Question | null): Interaction => ({ ...now, question });

/** Returns the panel of parameters after a key in it. */
function answered(question: Question, command: Command, { study }: ViewState): Question {
  if (!study) return question;
  const parameters = listParameters(study);
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

const MAX_FILTER = 40;

/** Adds a character to the typed text, or removes one for a backspace. Filters at once. */
function typed(now: Interaction, more: string): Interaction {
  const { question, filter } = now;
  const edited = (text: string): string => (more === '\b' ? text.slice(0, -1) : text + more);
  if (question?.kind === 'filter') return { ...now, filter: edited(filter).slice(0, MAX_FILTER) };
  if (question?.kind !== 'budget') return now;
  const text = edited(question.text);
  return /^\d{0,7}\.?\d{0,4}$/.test(text) ? { ...now, question: { kind: 'budget', text } } : now;
}

function sorted(now: Interaction, step: number, { study }: ViewState): Interaction {
  const { order } = now;
  if (step === 0) return { ...now, order: { ...order, isDescending: !order.isDescending } };
  return study ? { ...now, order: sortedByNext(order, study, step) } : now;
}

/** Leaves a page, then the filter, then the selection. */
function backFrom(now: Interaction): Interaction {
  if (now.page !== 'overview') return { ...now, page: 'overview' };
  return now.filter === '' ? { ...now, selected: null, marked: null } : { ...now, filter: '' };
}

/** True if the candidate by hand is legal: the run takes it. */
const isQueued = (question: Question | null, { study }: ViewState): boolean =>
  study !== null && question?.kind === 'hand' && verdictOn(study, question.assignment).legal;

/** Returns the trials in the order of the table. */
export const listed = (choice: RowChoice, { study }: ViewState): readonly Trial[] =>
  study ? orderedTrials(study, choice) : [];

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

/** True if the study is paused or was asked to pause, also by an earlier viewer. */
export const wantsPause = ({ wantsPause: wants }: Interaction, { isPaused }: Pick<ViewState, 'isPaused'>): boolean =>
  wants || isPaused;
