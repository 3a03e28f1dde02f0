import { RUNS_DIRECTORY } from '../../../app/output/directory.ts';
import { watchDirectories } from '../../../app/watch/watch-directories.ts';
import { openPage } from '../../../app/watch/watch-page.ts';
import { exitCodes } from '../../exit-codes.ts';
import { listenForInterrupts } from '../../interrupts.ts';
import type { Terminal } from '../../terminal.ts';
import type { WatchFlags } from './options.ts';

/** Serves the page until it is interrupted. Tuning processes continue without it. */
export async function runWatch(directories: readonly string[], flags: WatchFlags, terminal: Terminal): Promise<number> {
  const interrupts = listenForInterrupts(terminal.tell, () => 'studies go on', 'the page closes; studies go on');
  try {
    const { board, page } = await openPage(flags, null, terminal.tell);
    terminal.print(`watch the studies at ${page.url}`);
    try {
      await watchDirectories(directories.length > 0 ? directories : [RUNS_DIRECTORY], board, interrupts.signal);
      interrupts.check();
      return exitCodes.done;
    } finally {
      await page.close();
    }
  } finally {
    interrupts.release();
  }
}
