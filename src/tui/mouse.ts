import { useStdin, useStdout } from 'ink';
import { useEffect, useEffectEvent, useLayoutEffect } from 'react';
import type { Command } from './commands.ts';
import type { Row } from './rows.ts';

/** What a person does with the mouse. Columns and rows count from 0 at the upper left corner. */
export type MouseAction =
  | { readonly kind: 'click'; readonly column: number; readonly row: number }
  | { readonly kind: 'wheel'; readonly by: 1 | -1 };

/**
 * Buttons are reported (mode 1000), in decimal figures without an upper limit (mode 1006, "SGR").
 */
const ON = '\u001b[?1000h\u001b[?1006h';
const OFF = '\u001b[?1006l\u001b[?1000l';

// biome-ignore lint/suspicious/noControlCharactersInRegex: reports of a terminal begin with an escape
const REPORT = /\u001b\[<(\d+);(\d+);(\d+)([Mm])/g;
/** Where a report may have been cut between two chunks of input. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const BEGUN = /\u001b(?:\[(?:<[\d;]*)?)?$/;

const [LEFT_BUTTON, WHEEL_UP, WHEEL_DOWN] = [0, 64, 65];

/**
 * Returns the actions that a terminal's input reports, and the beginning of a report at its end.
 * Ignores everything else.
 */
export function mouseActionsIn(input: string): { readonly actions: readonly MouseAction[]; readonly rest: string } {
  const actions = [...input.matchAll(REPORT)].flatMap(([, button, column, row, end]): MouseAction[] => {
    if (end !== 'M') return [];
    if (Number(button) === WHEEL_UP) return [{ kind: 'wheel', by: -1 }];
    if (Number(button) === WHEEL_DOWN) return [{ kind: 'wheel', by: 1 }];
    return Number(button) === LEFT_BUTTON ? [{ kind: 'click', column: Number(column) - 1, row: Number(row) - 1 }] : [];
  });
  return { actions, rest: BEGUN.exec(input)?.[0] ?? '' };
}

/** Returns what a click at this place of the frame does; null for nothing. */
export function commandAt(frame: readonly Row[], column: number, row: number): Command | null {
  let end = 0;
  for (const { text, click } of frame[row] ?? []) {
    end += text.length;
    if (column < end) return click ?? null;
  }
  return null;
}

/**
 * Has the terminal report the mouse while the component is shown. Ink drops such reports. It turns
 * them off in a layout effect, which Ink runs whenever it releases the terminal, also at a signal.
 */
export function useMouse(onAction: (action: MouseAction) => void): void {
  const { stdin } = useStdin();
  const { stdout } = useStdout();
  const take = useEffectEvent(onAction);
  useLayoutEffect(() => {
    stdout.write(ON);
    return () => void stdout.write(OFF);
  }, [stdout]);
  useEffect(() => {
    let rest = '';
    const onData = (chunk: string | Buffer): void => {
      const actions = mouseActionsIn(rest + chunk.toString());
      rest = actions.rest;
      for (const action of actions.actions) take(action);
    };
    stdin.on('data', onData);
    return () => void stdin.off('data', onData);
  }, [stdin]);
}
