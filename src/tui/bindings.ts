import type { Key } from 'ink';
import type { Abilities, Command } from './commands.ts';
import type { Question } from './interaction.ts';
import { isSearching, type ViewState } from './state.ts';

export interface Binding {
  /** The key as shown in hints and help. */
  readonly shown: string;
  readonly does: string;
  readonly matches: (input: string, key: Key) => boolean;
  readonly command: Command;
  /** True if the key works now; it is shown only then. */
  readonly works: (abilities: Abilities, view: ViewState) => boolean;
  /** The short text in the line of hints; absent for a key that only the help names. */
  readonly hint?: string;
}

type Works = Binding['works'];
type Matches = Binding['matches'];

const always: Works = () => true;
const live: Works = ({ phase }) => phase === 'live';
/** Until the documents are written, a run that has ended is still live. */
const unfinished: Works = (abilities, view) => live(abilities, view) && !view.study?.finished;
const over: Works = ({ phase }) => phase === 'over';
const notOver: Works = ({ phase }) => phase !== 'over';
const searching: Works = (abilities, view) => live(abilities, view) && isSearching(view);
/** With many servers, it would not be clear which trial is meant. */
const here: Works = (abilities, view) => searching(abilities, view) && abilities.elsewhere === undefined;
const goesOn: Works = ({ elsewhere }) => elsewhere === 'goes-on';
const ends: Works = (abilities, view) => !goesOn(abilities, view);
const waiting: Works = (abilities, view) => searching(abilities, view) && view.study?.requested.length !== 0;
const tried: Works = (_, view) => (view.study?.trials.length ?? 0) > 0;

const letter =
  (text: string): Matches =>
  (input, key) =>
    input === text && !key.ctrl && !key.meta;
const up: Matches = (_, key) => key.upArrow;
const down: Matches = (_, key) => key.downArrow;
const left: Matches = (_, key) => key.leftArrow;
const right: Matches = (_, key) => key.rightArrow;
const enter: Matches = (_, key) => key.return;
const esc: Matches = (_, key) => key.escape;

const either =
  (...all: readonly Matches[]): Matches =>
  (input, key) =>
    all.some((matches) => matches(input, key));

function bind(shown: string, does: string, matches: Matches, command: Command, works = always, hint?: string): Binding {
  return { shown, does, matches, command, works, ...(hint !== undefined && { hint }) };
}

const move = (by: number): Command => ({ name: 'move', by });
const step = (rows: number, values: number): Command => ({ name: 'step', rows, values });

const exporting = (works: Works, hint?: string): Binding =>
  bind(
    'x',
    "write this trial's config.pbtxt to a file",
    letter('x'),
    { name: 'export' },
    (abilities, view) => abilities.canExport && works(abilities, view),
    hint,
  );
const comparing = (works: Works, hint?: string): Binding =>
  bind('c', 'compare with this trial, or with the original again', letter('c'), { name: 'mark' }, works, hint);

const SHOW_TRIAL = 'show all of this trial, or go back';
const FAR = 1e6;
const PAGE = 10;

/** Every key of the screen, in the order of the help. */
export const bindings: readonly Binding[] = [
  bind('↑ k', 'previous trial', either(up, letter('k')), move(-1)),
  bind('↓ j', 'next trial', either(down, letter('j')), move(1)),
  bind('PgUp', 'ten trials back', (_, key) => key.pageUp, move(-PAGE)),
  bind('PgDn', 'ten trials on', (_, key) => key.pageDown, move(PAGE)),
  bind('Home', 'first trial', (_, key) => key.home, move(-FAR)),
  bind('End', 'last trial', (_, key) => key.end, move(FAR)),
  bind('Enter', SHOW_TRIAL, enter, { name: 'page', page: 'trial' }, notOver, 'trial'),
  bind(
    'Enter',
    `${SHOW_TRIAL}; of the best, also why it is the best`,
    enter,
    { name: 'page', page: 'trial' },
    over,
    'details',
  ),
  bind('← →', 'sort by another column', left, { name: 'sort', step: -1 }, tried, 'sort'),
  bind('→', 'sort by the next column', right, { name: 'sort', step: 1 }, tried),
  bind('o', 'reverse the order', letter('o'), { name: 'sort', step: 0 }, tried),
  bind('/', 'filter the trials, such as by instances=4', letter('/'), { name: 'ask-filter' }, tried, 'filter'),
  bind('f', 'show only the front, or all', letter('f'), { name: 'front' }, tried),
  bind('v', 'chart: front, or best so far', letter('v'), { name: 'chart' }, tried, 'chart'),
  // Keys for a finished run have a hint only after it has finished.
  comparing(notOver),
  comparing(over, 'compare'),
  bind('Esc', 'go back; in the overview, follow the best', esc, { name: 'back' }),
  bind('p', 'pause, or continue', letter('p'), { name: 'pause' }, unfinished, 'pause'),
  bind('s', 'skip the running trial; its measurements count', letter('s'), { name: 'skip' }, here, 'skip'),
  bind('b', 'change the latency budget', letter('b'), { name: 'ask-budget' }, searching, 'budget'),
  bind('n', 'narrow the search: pin or exclude values', letter('n'), { name: 'ask-space' }, searching, 'narrow'),
  bind('t', 'try a candidate of your own, starting from this one', letter('t'), { name: 'ask-hand' }, searching, 'try'),
  bind('r', 'measure this trial again at its level', letter('r'), { name: 'again' }, searching),
  bind('u', 'cancel the trial that you asked for last', letter('u'), { name: 'withdraw' }, waiting),
  exporting(notOver),
  exporting(over, 'export'),
  bind('?', 'show all keys, or go back', letter('?'), { name: 'page', page: 'help' }, always, 'help'),
  bind('q', 'end the run (asks how)', letter('q'), { name: 'ask-quit' }, live, 'quit'),
  bind('q', 'close the screen', letter('q'), { name: 'quit' }, over, 'close'),
];

const STOP = 'keep the best: end the search, then compare best and original';
const close = bind('Esc', 'close', either(esc, letter('q')), { name: 'cancel' });
const rows: readonly Binding[] = [
  bind('↑↓', 'previous or next parameter', either(up, letter('k')), step(-1, 0), always, 'parameter'),
  bind('↓', 'next parameter', either(down, letter('j')), step(1, 0)),
];
const values: readonly Binding[] = [
  bind('←→', 'previous or next value', left, step(0, -1), always, 'value'),
  bind('→', 'next value', right, step(0, 1)),
];

/** The keys during a question, or in a panel of parameters. */
export const answers: Readonly<Record<Question['kind'], readonly Binding[]>> = {
  quit: [
    bind('k', STOP, letter('k'), { name: 'stop-search' }, searching, 'keep the best'),
    bind('y', 'quit now, and put the model back', letter('y'), { name: 'quit' }, ends, 'quit now'),
    bind(
      'l',
      'leave the study running, and close the screen',
      letter('l'),
      { name: 'quit' },
      goesOn,
      'leave it running',
    ),
    bind('Esc', 'continue', either(esc, letter('n')), { name: 'cancel' }, always, 'continue'),
  ],
  budget: [bind('Enter', 'accept', enter, { name: 'accept-budget' }), bind('Esc', 'continue', esc, { name: 'cancel' })],
  filter: [
    bind('Enter', 'keep the filter', enter, { name: 'accept-filter' }),
    bind('Esc', 'show all trials', esc, { name: 'clear-filter' }),
  ],
  space: [
    ...rows,
    ...values,
    bind('Enter', 'pin or unpin the value', enter, { name: 'pin' }, searching, 'pin'),
    bind('Space', 'exclude or include the value', letter(' '), { name: 'exclude' }, searching, 'exclude'),
    bind(
      'Backspace',
      'free the parameter',
      (_, key) => key.backspace || key.delete,
      { name: 'free' },
      searching,
      'free',
    ),
    { ...close, matches: either(close.matches, letter('n')), hint: 'close' },
  ],
  hand: [
    ...rows,
    ...values,
    bind('Enter', 'try it next', enter, { name: 'try' }, searching, 'try it next'),
    bind('u', 'cancel the trial asked for last', letter('u'), { name: 'withdraw' }, waiting, 'cancel the last'),
    { ...close, matches: either(close.matches, letter('t')), hint: 'close' },
  ],
};
