import { dirname } from 'node:path';
import { messageOf, TrituneError } from '../base/errors.ts';
import { closingLines } from '../headless/closing.ts';
import { createJsonLines } from '../headless/json-lines.ts';
import { createLines } from '../headless/lines.ts';
import type { WrittenRun } from '../report/write-run.ts';
import type { StudyRecord } from '../study/records.ts';
import type { Trial } from '../study/types.ts';
import type { TunerEvent } from '../tuner/seams.ts';
import { Steering } from '../tuner/steering.ts';
import { exitCodes } from './exit-codes.ts';
import type { Terminal } from './terminal.ts';
import type { UiName } from './tune-options.ts';

/** What a run is shown on. */
export interface Screen {
  readonly onEvent: (event: TunerEvent) => void;
  /** A line for the person watching. */
  readonly tell: (line: string) => void;
  /** Once, when the documents are written. */
  readonly onEnd: (written: WrittenRun) => void;
  /** Through which the person steers the run, where they can. */
  readonly steering?: Steering;
  /** Resolves when the person has seen enough of a finished run, or when the signal aborts. */
  untilLeft(signal: AbortSignal): Promise<void>;
  /** Gives the terminal back. */
  close(): void;
}

/** What a screen that can be steered reaches for. */
export interface ScreenReach {
  readonly earlier: readonly StudyRecord[];
  readonly interrupt: () => void;
  readonly exportConfig: (trial: Trial) => Promise<string>;
}

/** The screen that `--ui` names; `auto` is the whole terminal where a person sits at one, and lines elsewhere. */
export async function openScreen(ui: UiName, terminal: Terminal, reach: ScreenReach): Promise<Screen> {
  if (ui === 'tui' || (ui === 'auto' && terminal.canvas?.isWatched)) return tuiScreen(terminal, reach);
  const plain = { tell: terminal.tell, untilLeft: () => Promise.resolve(), close: () => undefined };
  switch (ui) {
    case 'none':
      return { ...plain, onEvent: () => undefined, onEnd: () => undefined };
    case 'json': {
      const print = createJsonLines(terminal.print);
      const onEnd = ({ summary, files }: WrittenRun): void =>
        print({ type: 'documents-written', ...{ summary, files } });
      return { ...plain, onEvent: print, onEnd };
    }
    case 'auto':
    case 'lines':
      return { ...plain, onEvent: createLines(terminal.print), onEnd: (written) => printClosing(written, terminal) };
  }
}

function printClosing({ summary, files }: WrittenRun, terminal: Terminal): void {
  for (const line of closingLines(summary, files)) terminal.print(line);
}

/**
 * The terminal UI. What is told while it is up is told again when the terminal is as it was, after which the closing
 * lines stay in the scrollback. However the process ends, the terminal is given back first.
 */
async function tuiScreen(terminal: Terminal, reach: ScreenReach): Promise<Screen> {
  const { canvas } = terminal;
  if (!canvas) throw new TrituneError('USAGE', 'there is no terminal to draw on', 'use --ui lines or --ui json');
  // React's development build is slower, and keeps a record of every render.
  process.env.NODE_ENV ??= 'production';
  const { openTui } = await import('../tui/open.ts');
  const steering = new Steering();
  const tui = openTui({ ...reach, ...canvas, commands: steering });
  const told: string[] = [];
  let written: WrittenRun | null = null;
  let isOpen = true;
  const close = (): void => {
    if (!isOpen) return;
    isOpen = false;
    process.off('exit', close);
    process.off('uncaughtException', onFault);
    tui.close();
    for (const line of told) terminal.tell(line);
    if (written) printClosing(written, terminal);
  };
  const onFault = (error: Error): void => {
    close();
    terminal.tell(`tritune: INTERNAL: ${messageOf(error)} (this is a defect of tritune: please report it)`);
    process.exit(exitCodes.internal);
  };
  process.on('exit', close);
  process.on('uncaughtException', onFault);
  return {
    steering,
    onEvent: tui.onEvent,
    tell: (line) => {
      if (isOpen) {
        told.push(line);
        tui.tell(line);
      } else terminal.tell(line);
    },
    onEnd: (end) => {
      written = end;
      tui.end(`the run has ended; its files are in ${dirname(end.files.summary)}`);
    },
    untilLeft: (signal) => Promise.race([tui.left, aborted(signal)]),
    close,
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
