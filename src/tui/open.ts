import { createElement } from 'react';
import type { StudyRecord } from '../study/records/records.ts';
import type { TunerEvent } from '../tuner/seams.ts';
import { App } from './app.ts';
import { openFullScreen } from './full-screen.ts';
import { ViewFold } from './state.ts';
import { type Reach, Store } from './store.ts';

export interface TuiOptions extends Reach {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly hasColours: boolean;
  /** Records of the study from before: of the runs that this one resumes, or of the one that is looked at. */
  readonly earlier: readonly StudyRecord[];
  /** Monotonic milliseconds; the machine's without it. */
  readonly nowMs?: () => number;
}

/** The screen while it is up. */
export interface Tui {
  onEvent(event: TunerEvent): void;
  /** A line for the person, in the screen. */
  tell(line: string): void;
  /** Resolves when all that came so far is drawn. */
  settled(): Promise<void>;
  /** The run is over; the screen stays until the person closes it. */
  end(notice: string): void;
  /** Resolves when the person has closed the screen of a run that is over. */
  readonly left: Promise<void>;
  /** Gives the terminal back at once; safe to call more than once, and when the process ends. */
  close(): void;
}

/** Takes the terminal over: alternate screen, raw keys, console output kept out of the frame. */
export function openTui(options: TuiOptions): Tui {
  const { stdin, stdout, hasColours } = options;
  const store = new Store(new ViewFold(options.earlier), options, options.nowMs);
  const instance = openFullScreen(createElement(App, { store, hasColours }), stdin, stdout, {
    incrementalRendering: true,
    exitOnCtrlC: false,
    patchConsole: true,
  });
  return {
    onEvent: (event) => store.onEvent(event),
    tell: (line) => store.tell(line),
    end: (notice) => store.end(notice),
    settled: async () => {
      store.flush();
      await instance.waitUntilRenderFlush();
    },
    left: store.left,
    close: () => {
      store.close();
      instance.unmount();
    },
  };
}
