import { dirname } from 'node:path';
import { exitCodes } from '#app/exit-codes.ts';
import type { StudyWatch } from '#app/study/watch.ts';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { BREAKS, closingLines } from '#headless/closing.ts';
import { createJsonLines } from '#headless/json-lines.ts';
import { createLines } from '#headless/lines.ts';
import { reportLongLoads } from '#headless/long-loads.ts';
import { seriesLines } from '#headless/series-lines.ts';
import type { WrittenRun } from '#report/write-run.ts';
import type { StudyRecord } from '#study/records/records.ts';
import type { SeriesSummary } from '#study/summary/summary-schema.ts';
import type { Trial } from '#study/types.ts';
import type { Tui } from '#tui/open.ts';
import type { Reach } from '#tui/store.ts';
import { Steering } from '#tuner/steering.ts';
import type { Terminal, TerminalCanvas } from '../../terminal.ts';
import type { UiName } from './options.ts';

/** The output of a run. */
export interface Screen extends StudyWatch {
  /** Resolves when the person leaves the screen of a finished run, or when the signal aborts. */
  untilLeft(signal: AbortSignal): Promise<void>;
  /** Releases the terminal. */
  close(): void;
}

/** The access of a steering screen to its run. */
export interface ScreenReach {
  readonly earlier: readonly StudyRecord[];
  readonly interrupt: () => void;
  readonly exportConfig: (trial: Trial) => Promise<string>;
  readonly elsewhere?: Reach['elsewhere'];
  /** The model, if the run has others too; programs get it with every event. */
  readonly ofSeries?: string;
}

/**
 * Opens the screen that `--ui` names. `auto` means the full screen if a person sits at a terminal,
 * else lines.
 */
export async function openScreen(ui: UiName, terminal: Terminal, reach: ScreenReach): Promise<Screen> {
  if (ui === 'tui' || (ui === 'auto' && terminal.canvas?.isWatched)) return tuiScreen(terminal, reach);
  const plain = { tell: terminal.tell, untilLeft: () => Promise.resolve(), close: () => undefined };
  switch (ui) {
    case 'none':
      return { ...plain, onEvent: () => undefined, onEnd: () => undefined };
    case 'json': {
      const print = createJsonLines(terminal.print, reach.ofSeries === undefined ? {} : { model: reach.ofSeries });
      const onEnd = ({ summary, files }: WrittenRun): void => print({ type: 'documents-written', summary, files });
      return { ...plain, onEvent: print, onEnd };
    }
    case 'auto':
    case 'lines':
      return {
        ...plain,
        onEvent: reportLongLoads(terminal.print, createLines(terminal.print, reach.earlier)),
        onEnd: (written) => printClosing(written, terminal),
      };
  }
}

/** Errors: USAGE for `--ui tui` without a terminal. */
export function requireCanvas(ui: UiName, terminal: Terminal): void {
  if (ui === 'tui') createCanvas(terminal);
}

function createCanvas({ canvas }: Terminal): TerminalCanvas {
  if (canvas) return canvas;
  throw new TrituneError('USAGE', 'the full screen needs a terminal', 'use --ui lines or --ui json');
}

/** Prints the outcome of a series in the way that `--ui` names. */
export function printSeries(ui: UiName, terminal: Terminal, summary: SeriesSummary, directory: string): void {
  if (ui === 'none') return;
  if (ui === 'json') createJsonLines(terminal.print)({ type: 'series-finished', directory, summary });
  else for (const line of seriesLines(summary, directory)) terminal.print(line);
}

function printClosing({ summary, files, started, emitted }: WrittenRun, terminal: Terminal): void {
  const run = { started, emitted, summary: files.summary, report: files.report };
  const columns = terminal.canvas?.stdout.columns;
  for (const line of closingLines(summary, files, { columns, run }))
    terminal.print(line, line.startsWith(BREAKS) ? 'bad' : undefined);
}

/** Opens the terminal UI over a run that it can steer. */
async function tuiScreen(terminal: Terminal, reach: ScreenReach): Promise<Screen> {
  const steering = new Steering();
  const { tui, tell, leave } = await takeOver(terminal, { ...reach, commands: steering });
  let written: WrittenRun | null = null;
  return {
    steering,
    tell,
    onEvent: tui.onEvent,
    onEnd: (end) => {
      written = end;
      tui.end(`the run has ended; its files are in ${dirname(end.files.summary)}`);
    },
    untilLeft: (signal) => Promise.race([tui.left, aborted(signal)]),
    close: () => {
      if (leave() && written) printClosing(written, terminal);
    },
  };
}

/**
 * Shows the records of a run until the person closes the screen. Errors: USAGE without a terminal.
 */
export async function browse(terminal: Terminal, reach: Omit<ScreenReach, 'interrupt'>): Promise<void> {
  const { tui, leave } = await takeOver(terminal, { ...reach, commands: null, interrupt: () => undefined });
  await tui.left;
  leave();
}

interface TakenOver {
  readonly tui: Tui;
  readonly tell: (line: string) => void;
  /** Releases the terminal; false if that was done before. */
  readonly leave: () => boolean;
}

/**
 * Loads the terminal UI and gives it the terminal. Messages that arrive meanwhile are printed again
 * after the screen closes. The terminal is always released before the process ends.
 */
async function takeOver(terminal: Terminal, reach: Reach & Pick<ScreenReach, 'earlier'>): Promise<TakenOver> {
  const canvas = createCanvas(terminal);
  // React's development build is slower, and keeps a record of every render.
  process.env.NODE_ENV ??= 'production';
  const { openTui } = await import('#tui/open.ts');
  const tui = openTui({ ...reach, ...canvas });
  const lines: string[] = [];
  let isOpen = true;
  const leave = (): boolean => {
    if (!isOpen) return false;
    isOpen = false;
    process.off('exit', leave);
    process.off('uncaughtException', onFault);
    tui.close();
    for (const line of lines) terminal.tell(line);
    return true;
  };
  const onFault = (error: Error): void => {
    leave();
    // A run has a model to restore; the listener for interrupts ends it in order.
    if (reach.commands !== null) return;
    terminal.tell(`tritune: INTERNAL: ${formatMessage(error)} (this is a defect of tritune: please report it)`);
    process.exit(exitCodes.internal);
  };
  process.on('exit', leave);
  process.on('uncaughtException', onFault);
  const tell = (line: string): void => {
    if (!isOpen) {
      terminal.tell(line);
      return;
    }
    lines.push(line);
    tui.tell(line);
  };
  return { tui, tell, leave };
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
