import type { Key } from 'ink';
import { answers, type Binding, bindings } from './bindings.ts';
import type { Abilities, Command } from './commands.ts';
import type { Interaction } from './interaction.ts';
import type { ViewState } from './state.ts';

/** The bindings that work now, answers alone while a question is asked. */
export function workingKeys(interaction: Interaction, abilities: Abilities, view: ViewState): readonly Binding[] {
  const asked = interaction.question;
  return (asked ? answers[asked.kind] : bindings).filter(({ works }) => works(abilities, view));
}

/** For the line at the foot: what has a hint, or all where nothing has. */
export function hintsOf(
  interaction: Interaction,
  abilities: Abilities,
  view: ViewState,
): readonly { readonly shown: string; readonly does: string }[] {
  const working = workingKeys(interaction, abilities, view);
  const hinted = working.filter(({ hint }) => hint !== undefined);
  return (hinted.length > 0 ? hinted : working).map(({ shown, does, hint = does }) => ({ shown, does: hint }));
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
