import { Box, useInput, useWindowSize } from 'ink';
import { createElement, memo, type ReactElement, useSyncExternalStore } from 'react';
import { drawnRow } from './drawn-row.ts';
import { frame } from './frame.ts';
import { commandOf, pressesOf } from './keys.ts';
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
    for (const press of pressesOf(input, key)) {
      const { interaction, abilities, view } = store.scene();
      const command = commandOf(press.input, press.key, interaction, abilities, view);
      if (command) store.onCommand(command);
    }
  });
  const lines = frame(scene, size).map((line, index) => createElement(Line, { key: index, line, hasColours }));
  return createElement(
    Box,
    { flexDirection: 'column', width: size.columns, height: size.rows, overflow: 'hidden' },
    ...lines,
  );
}

const Line = memo(
  ({ line, hasColours }: { readonly line: Row; readonly hasColours: boolean }): ReactElement =>
    drawnRow(line, hasColours),
  (before, after) => JSON.stringify(before.line) === JSON.stringify(after.line),
);
