import type { Key } from 'ink';
import { answers, type Binding, bindings } from './bindings.ts';
import type { Abilities, Command } from './commands.ts';
import type { Interaction, Question } from './interaction.ts';
import { isSearching, type ViewState } from './state.ts';

/** Returns the bindings that work now; only answers during a question. */
export function workingKeys(interaction: Interaction, abilities: Abilities, view: ViewState): readonly Binding[] {
  const question = interaction.question;
  return (question ? answers[question.kind] : bindings).filter(({ works }) => works(abilities, view));
}

/** Returns the bindings in the line at the bottom: those with a hint, or all if none has one. */
export function listHints(
  interaction: Interaction,
  abilities: Abilities,
  view: ViewState,
): readonly Pick<Binding, 'shown' | 'does' | 'command'>[] {
  const working = workingKeys(interaction, abilities, view);
  const hinted = working.filter(({ hint }) => hint !== undefined);
  const listed = hinted.length > 0 ? hinted : working;
  return listed.map(({ shown, does, hint = does, command }) => ({ shown, does: hint, command }));
}

/** Splits an input into key presses: keys pressed in quick succession come as one input. */
export function splitPresses(input: string, key: Key): readonly { readonly input: string; readonly key: Key }[] {
  if (input.length <= 1) return [{ input, key }];
  return [...input].map((each) => {
    const [isReturn, isBackspace] = [each === '\r' || each === '\n', each === '\u007f' || each === '\b'];
    return { input: isReturn || isBackspace ? '' : each, key: { ...key, return: isReturn, backspace: isBackspace } };
  });
}

/**
 * Returns the command of a key press; `not-now` for a key that works at other times, null for one
 * that never does anything.
 */
export function findCommand(
  input: string,
  key: Key,
  interaction: Interaction,
  abilities: Abilities,
  view: ViewState,
): Command | null {
  if (key.ctrl && input === 'c') return { name: 'interrupt' };
  const binding = workingKeys(interaction, abilities, view).find(({ matches }) => matches(input, key));
  if (binding) return binding.command;
  const other = interaction.question === null ? bindings.find(({ matches }) => matches(input, key)) : undefined;
  if (other) return { name: 'not-now', reason: whyNotNow(other, abilities, view) };
  return typedText(input, key, interaction.question);
}

/** The letters that a question takes. */
const typedLetters: Readonly<Partial<Record<Question['kind'], RegExp>>> = { budget: /^[\d.]$/, filter: /^[ -~]$/ };

function typedText(input: string, key: Key, question: Question | null): Command | null {
  const letters = question && typedLetters[question.kind];
  if (!letters || key.ctrl || key.meta) return null;
  if (key.backspace || key.delete) return { name: 'type', text: '\b' };
  return letters.test(input) ? { name: 'type', text: input } : null;
}

function whyNotNow({ shown, does }: Binding, { phase }: Abilities, view: ViewState): string {
  if (phase === 'over') return 'the run has ended, so this key does nothing';
  if (phase === 'stopping' || view.study?.finished) return 'the run is ending';
  if (view.study === null) return 'the run has not started yet';
  if (isSearching(view)) return shown === 'u' ? 'no trial that you asked for is waiting' : 'no trial has ended yet';
  const compared = view.study.contender ? `trial ${view.study.contender.number}` : 'the best';
  return `${shown} (${does}) works during the search; now the final compares ${compared} with the original. p pauses, q quits`;
}
