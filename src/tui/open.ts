import { createElement } from 'react';
import type { StudyRecord } from '#study/records/records.ts';
import type { TunerEvent } from '#tuner/seams.ts';
import { App } from './app.ts';
import { openFullScreen } from './full-screen.ts';
import { ViewFold } from './state.ts';
import { type Reach, Store } from './store.ts';

export interface TuiOptions extends Reach {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly hasColours: boolean;
  /** Earlier records of the study: of the runs that this one resumes, or of the one on view. */
  readonly earlier: readonly StudyRecord[];
  /** Returns monotonic milliseconds; defaults to the machine's clock. */
  readonly nowMs?: () => number;
}

/** The open screen. */
export interface Tui {
  onEvent(event: TunerEvent): void;
  /** Shows a message on the screen. */
  tell(line: string): void;
  /** Resolves once everything so far is drawn. */
  settled(): Promise<void>;
  /** Ends the run; the screen stays until the person closes it. */
  end(notice: string): void;
  /** Resolves when the person has closed the screen of a finished run. */
  readonly left: Promise<void>;
  /** Releases the terminal at once. Safe to call more than once, and when the process ends. */
  close(): void;
}

/** Takes over the terminal: alternate screen, raw keys, console output kept out of the frame. */
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
