import { Box, useApp, useInput, useWindowSize } from 'ink';
import { createElement, type ReactElement, useState, useSyncExternalStore } from 'react';
import { drawnRow } from './drawn-row.ts';
import { openFullScreen } from './full-screen.ts';
import { splitPresses } from './keys.ts';
import { liveRows } from './live-rows.ts';
import { findSelected, firstChoice, type LiveChoice, type LiveView, moveChoice } from './live-view.ts';
import { block } from './rows.ts';

export interface LiveScreenOptions {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly hasColours: boolean;
  /** Called when the person leaves. */
  readonly onQuit: () => void;
  /** Called when the person selects another model. */
  readonly onSelect: (model: string | null) => void;
}

/** An open page of a live service. */
export interface LiveScreen {
  show(view: LiveView): void;
  /** Gives the terminal back. */
  close(): Promise<void>;
}

/** Opens the page on the whole terminal. */
export function openLiveScreen(first: LiveView, options: LiveScreenOptions): LiveScreen {
  let view = first;
  let listener: () => void = () => undefined;
  const store = {
    view: () => view,
    subscribe: (each: () => void) => {
      listener = each;
      return () => {
        listener = () => undefined;
      };
    },
  };
  const screen = createElement(LivePage, { store, ...options });
  const instance = openFullScreen(screen, options.stdin, options.stdout, { exitOnCtrlC: false });
  return {
    show: (next) => {
      view = next;
      listener();
    },
    close: async () => {
      instance.unmount();
      await instance.waitUntilExit();
    },
  };
}

interface PageProps extends LiveScreenOptions {
  readonly store: { view(): LiveView; subscribe(listener: () => void): () => void };
}

function LivePage({ store, hasColours, onQuit, onSelect }: PageProps): ReactElement {
  const live = useSyncExternalStore(store.subscribe, store.view);
  const [choice, setChoice] = useState<LiveChoice>(firstChoice);
  const [frozen, setFrozen] = useState<LiveView | null>(null);
  const size = useWindowSize();
  const { exit } = useApp();
  const view = frozen ?? live;
  const move = (by: number): void => {
    const next = moveChoice(view, choice, by);
    setChoice(next);
    onSelect(findSelected(view, next));
  };
  useInput((input, pressed) => {
    for (const press of splitPresses(input, pressed)) {
      const { key } = press;
      if (press.input === 'q' || key.escape || (key.ctrl && press.input === 'c')) {
        onQuit();
        exit();
      } else if (press.input === 'p' || press.input === ' ') {
        setFrozen(choice.isPaused ? null : live);
        setChoice({ ...choice, isPaused: !choice.isPaused });
      } else if (key.upArrow || press.input === 'k') move(-1);
      else if (key.downArrow || press.input === 'j') move(1);
    }
  });
  const lines = block(liveRows(view, choice, size), size).map((line, index) => drawnRow(line, hasColours, index));
  return createElement(Box, { flexDirection: 'column', width: size.columns, height: size.rows }, ...lines);
}
