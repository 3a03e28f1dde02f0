import type { Key } from 'ink';
import type { Interaction } from './interaction.ts';
import type { ViewState } from './state.ts';

/** What a key does. */
export type Command =
  | { readonly name: 'move'; readonly by: number }
  | { readonly name: 'page'; readonly page: 'trial' | 'help' }
  | { readonly name: 'type'; readonly text: string }
  | {
      readonly name:
        | 'sort'
        | 'front'
        | 'mark'
        | 'back'
        | 'pause'
        | 'skip'
        | 'again'
        | 'ask-quit'
        | 'ask-budget'
        | 'accept-budget'
        | 'stop-search'
        | 'quit'
        | 'export'
        | 'cancel'
        | 'interrupt';
    };

/** How the screen stands to the run: `live` while it can be steered, `stopping` after it was told to end, else `over`. */
export type Phase = 'live' | 'stopping' | 'over';

/** What can be done besides looking. */
export interface Abilities {
  readonly phase: Phase;
  readonly canExport: boolean;
}

export interface Binding {
  /** As the hints and the help show it. */
  readonly shown: string;
  readonly does: string;
  readonly matches: (input: string, key: Key) => boolean;
  readonly command: Command;
  /** When it works; it is shown only then. */
  readonly works: (abilities: Abilities, view: ViewState) => boolean;
  /** In the line of hints, which has little room; absent for a key that only the help names. */
  readonly hint?: string;
}

const letter = (text: string) => (input: string, key: Key) => input === text && !key.ctrl && !key.meta;
const always = (): boolean => true;
const live = ({ phase }: Abilities): boolean => phase === 'live';
/** The search is under way: not yet the final. */
const searching = (abilities: Abilities, { study }: ViewState): boolean =>
  live(abilities) && study !== null && study.finals.length === 0;

const FAR = 1e6;
const PAGE = 10;

/** Every key of the screen, in the order of the help. */
export const bindings: readonly Binding[] = [
  {
    shown: '↑ k',
    does: 'the trial above',
    matches: (input, key) => key.upArrow || input === 'k',
    command: { name: 'move', by: -1 },
    works: always,
  },
  {
    shown: '↓ j',
    does: 'the trial below',
    matches: (input, key) => key.downArrow || input === 'j',
    command: { name: 'move', by: 1 },
    works: always,
  },
  {
    shown: 'PgUp',
    does: 'ten trials up',
    matches: (_, key) => key.pageUp,
    command: { name: 'move', by: -PAGE },
    works: always,
  },
  {
    shown: 'PgDn',
    does: 'ten trials down',
    matches: (_, key) => key.pageDown,
    command: { name: 'move', by: PAGE },
    works: always,
  },
  {
    shown: 'Home',
    does: 'the first trial',
    matches: (_, key) => key.home,
    command: { name: 'move', by: -FAR },
    works: always,
  },
  {
    shown: 'End',
    does: 'the last trial',
    matches: (_, key) => key.end,
    command: { name: 'move', by: FAR },
    works: always,
  },
  {
    shown: 'Enter',
    does: 'the whole trial, and back',
    matches: (_, key) => key.return,
    command: { name: 'page', page: 'trial' },
    works: always,
    hint: 'trial',
  },
  {
    shown: 'o',
    does: 'order: number, throughput, latency',
    matches: letter('o'),
    command: { name: 'sort' },
    works: always,
    hint: 'order',
  },
  {
    shown: 'f',
    does: 'only trials on the Pareto front, or all',
    matches: letter('f'),
    command: { name: 'front' },
    works: always,
    hint: 'front',
  },
  {
    shown: 'c',
    does: 'compare others with this trial, or with the original again',
    matches: letter('c'),
    command: { name: 'mark' },
    works: always,
  },
  {
    shown: 'Esc',
    does: 'back; from the overview: follow the best',
    matches: (_, key) => key.escape,
    command: { name: 'back' },
    works: always,
  },
  {
    shown: 'p',
    does: 'pause, and go on',
    matches: letter('p'),
    command: { name: 'pause' },
    works: live,
    hint: 'pause',
  },
  {
    shown: 's',
    does: 'skip the trial under way; what it measured counts',
    matches: letter('s'),
    command: { name: 'skip' },
    works: searching,
    hint: 'skip',
  },
  {
    shown: 'b',
    does: 'another latency budget',
    matches: letter('b'),
    command: { name: 'ask-budget' },
    works: searching,
    hint: 'budget',
  },
  {
    shown: 'r',
    does: 'measure this trial again at its level',
    matches: letter('r'),
    command: { name: 'again' },
    works: searching,
  },
  {
    shown: 'x',
    does: "write this trial's config.pbtxt",
    matches: letter('x'),
    command: { name: 'export' },
    works: ({ canExport }) => canExport,
  },
  {
    shown: '?',
    does: 'all keys, and back',
    matches: letter('?'),
    command: { name: 'page', page: 'help' },
    works: always,
    hint: 'help',
  },
  {
    shown: 'q',
    does: 'end the run: asks how',
    matches: letter('q'),
    command: { name: 'ask-quit' },
    works: live,
    hint: 'quit',
  },
  {
    shown: 'q',
    does: 'close the screen',
    matches: letter('q'),
    command: { name: 'quit' },
    works: ({ phase }) => phase === 'over',
    hint: 'close',
  },
];

interface Answer extends Pick<Binding, 'shown' | 'does' | 'matches' | 'command'> {
  readonly works: Binding['works'];
}

const cancel: Answer = {
  shown: 'Esc',
  does: 'go on',
  matches: (input, key) => key.escape || input === 'n',
  command: { name: 'cancel' },
  works: always,
};

/** The keys while a question is asked. */
const answers: Readonly<Record<'quit' | 'budget', readonly Answer[]>> = {
  quit: [
    {
      shown: 'k',
      does: 'keep the best: end the search, measure best against original',
      matches: letter('k'),
      command: { name: 'stop-search' },
      works: searching,
    },
    {
      shown: 'y',
      does: 'quit now, and put the model back',
      matches: letter('y'),
      command: { name: 'quit' },
      works: always,
    },
    cancel,
  ],
  budget: [
    {
      shown: 'Enter',
      does: 'take it',
      matches: (_, key) => key.return,
      command: { name: 'accept-budget' },
      works: always,
    },
    { ...cancel, matches: (_, key) => key.escape },
  ],
};

/** The bindings that work now, answers alone while a question is asked. */
export function workingKeys(
  interaction: Interaction,
  abilities: Abilities,
  view: ViewState,
): readonly Pick<Binding, 'shown' | 'does' | 'matches' | 'command'>[] {
  const asked = interaction.question;
  const all: readonly Answer[] = asked ? answers[asked.kind] : bindings;
  return all.filter(({ works }) => works(abilities, view));
}

/** For the line at the foot. */
export function hintsOf(
  interaction: Interaction,
  abilities: Abilities,
  view: ViewState,
): readonly { readonly shown: string; readonly does: string }[] {
  if (interaction.question) return workingKeys(interaction, abilities, view);
  return bindings
    .filter(({ hint, works }) => hint !== undefined && works(abilities, view))
    .map(({ shown, hint = '' }) => ({ shown, does: hint }));
}

/** What comes quickly after each other comes as one input: its characters one by one, as if each had come alone. */
export function pressesOf(input: string, key: Key): readonly { readonly input: string; readonly key: Key }[] {
  if (input.length <= 1) return [{ input, key }];
  return [...input].map((each) => {
    const [isReturn, isBackspace] = [each === '\r' || each === '\n', each === '\u007f' || each === '\b'];
    return { input: isReturn || isBackspace ? '' : each, key: { ...key, return: isReturn, backspace: isBackspace } };
  });
}

/** The command of a key press, or null for a key that does nothing now. */
export function commandOf(
  input: string,
  key: Key,
  interaction: Interaction,
  abilities: Abilities,
  view: ViewState,
): Command | null {
  if (key.ctrl && input === 'c') return { name: 'interrupt' };
  const found = workingKeys(interaction, abilities, view).find(({ matches }) => matches(input, key));
  if (found) return found.command;
  if (interaction.question?.kind !== 'budget') return null;
  if (key.backspace || key.delete) return { name: 'type', text: '\b' };
  return /^[\d.]+$/.test(input) ? { name: 'type', text: input } : null;
}
