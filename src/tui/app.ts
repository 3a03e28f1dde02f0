import { Box, type Key, useInput, useWindowSize } from 'ink';
import { createElement, memo, type ReactElement, useSyncExternalStore } from 'react';
import type { Command } from './commands.ts';
import { drawnRow } from './drawn-row.ts';
import { frame, type Scene } from './frame.ts';
import { findCommand, splitPresses } from './keys.ts';
import { commandAt, type MouseAction, useMouse } from './mouse.ts';
import type { Row } from './rows.ts';
import type { Store } from './store.ts';

interface AppProps {
  readonly store: Store;
  readonly hasColours: boolean;
}

/** Draws the scene at the size of the terminal, and turns keys into commands. */
export function App({ store, hasColours }: AppProps): ReactElement {
  const scene = useSyncExternalStore(store.subscribe, store.scene);
  const size = useWindowSize();
  useInput((input, key) => {
    for (const press of splitPresses(input, key)) {
      const { interaction, abilities, view } = store.scene();
      const command = findCommand(press.input, press.key, interaction, abilities, view);
      if (command) store.onCommand(command);
    }
  });
  const rows = frame(scene, size);
  useMouse((action) => {
    const command = commandOfMouse(action, rows, store.scene());
    if (command) store.onCommand(command);
  });
  const lines = rows.map((line, index) => createElement(Line, { key: index, line, hasColours }));
  return createElement(
    Box,
    { flexDirection: 'column', width: size.columns, height: size.rows, overflow: 'hidden' },
    ...lines,
  );
}

/** The wheel does what the arrow keys do. */
function commandOfMouse(action: MouseAction, rows: readonly Row[], scene: Scene): Command | null {
  if (action.kind === 'click') return commandAt(rows, action.column, action.row);
  const key = { upArrow: action.by < 0, downArrow: action.by > 0 } as Key;
  return findCommand('', key, scene.interaction, scene.abilities, scene.view);
}

const Line = memo(
  ({ line, hasColours }: { readonly line: Row; readonly hasColours: boolean }): ReactElement =>
    drawnRow(line, hasColours),
  (before, after) => JSON.stringify(before.line) === JSON.stringify(after.line),
);
