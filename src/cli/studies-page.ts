import { exitCodes } from '#app/exit-codes.ts';
import { openPage, type WatchSpec } from '#app/watch-page.ts';
import type { Board } from '#watch/board.ts';
import { listenForInterrupts } from './interrupts.ts';
import type { Terminal } from './terminal.ts';

/** What a page of studies shows. */
interface StudiesPage {
  /** What is watched, such as `the fleet`. */
  readonly what: string;
  /** Steers studies; null if they cannot be steered. */
  readonly order: Parameters<typeof openPage>[1];
  /** What is said when the page is interrupted, and when that happens again. */
  readonly firstWords: string;
  readonly lastWords: string;
  /** Fills the board until the signal aborts. */
  fill(board: Board, signal: AbortSignal): Promise<void>;
}

/**
 * Serves the page until it is interrupted; studies continue without it. Returns the exit code.
 * Errors: USAGE, INPUT_INVALID.
 */
export async function showStudies(spec: WatchSpec, shown: StudiesPage, terminal: Terminal): Promise<number> {
  const interrupts = listenForInterrupts(terminal.tell, () => shown.lastWords, shown.firstWords);
  try {
    const { board, page } = await openPage(spec, shown.order, terminal.tell);
    terminal.print(`watch ${shown.what} at ${page.url}`);
    try {
      await shown.fill(board, interrupts.signal);
      interrupts.check();
      return exitCodes.done;
    } finally {
      await page.close();
    }
  } finally {
    interrupts.release();
  }
}
