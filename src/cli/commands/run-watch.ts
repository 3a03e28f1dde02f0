import { RUNS_DIRECTORY } from '#app/run-directory.ts';
import { watchDirectories } from '#app/watch-directories.ts';
import { showStudies } from '../studies-page.ts';
import type { Terminal } from '../terminal.ts';
import type { WatchFlags } from './watch-options.ts';

/** Serves the page until it is interrupted. Tuning processes continue without it. */
export const runWatch = (directories: readonly string[], flags: WatchFlags, terminal: Terminal): Promise<number> =>
  showStudies(
    flags,
    {
      what: 'the studies',
      order: null,
      firstWords: 'the page closes; studies go on',
      lastWords: 'studies go on',
      fill: (board, signal) => watchDirectories(directories.length > 0 ? directories : [RUNS_DIRECTORY], board, signal),
    },
    terminal,
  );
