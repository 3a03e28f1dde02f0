import { realClock } from '../base/clock.ts';
import { TrituneError } from '../base/errors.ts';
import { discardEmpty } from '../cli/output-directory.ts';
import type { Screen } from '../cli/screen.ts';
import { warnIfInsecure } from '../cli/tls-options.ts';
import { openRequest } from '../cli/tune-request.ts';
import { tuneOnItsServer } from '../cli/tune-study.ts';
import type { WrittenRun } from '../report/write-run.ts';
import type { Summary } from '../study/summary.ts';
import type { TunerEvent } from '../tuner/seams.ts';
import { completeOptions, type TuneOptions } from './options.ts';

/** The last event: what was found, and the paths of what was written. */
export type DocumentsWritten = { readonly type: 'documents-written' } & WrittenRun;

/** What happens in a run, as `--ui json` prints it: every record of the journal, the moments between them, the documents. */
export type TuneEvent = TunerEvent | DocumentsWritten;

export interface TuneWatch {
  /** Called with each event, in order. What it throws does not stop the run, which rejects with it when it is over. */
  readonly onEvent?: (event: TuneEvent) => void;
  /** A line for people: what was assumed about the inputs, a connection that is not verified. */
  readonly onNote?: (line: string) => void;
  /** Aborting ends the run in order: the model is put back, and the summary is of what was found so far. */
  readonly signal?: AbortSignal;
}

/**
 * `tritune tune` for one model, without a terminal: tunes the model on a live server or on one that is started for the run,
 * writes the documents into `output`, puts the model back, and resolves to the summary, also when nothing met the budget
 * (`feasible` is false) and when the signal was aborted (`interrupted` is true). It listens to no signal of the process.
 * Errors: a TrituneError for what ended the study otherwise, such as USAGE, SERVER_UNREACHABLE or RESTORE_FAILED.
 */
export async function tune(options: TuneOptions, watch: TuneWatch = {}): Promise<Summary> {
  const signal = watch.signal ?? new AbortController().signal;
  const complete = completeOptions(options);
  const request = await openRequest(complete.options, complete.named, realClock.wallMs());
  const { screen, written } = screenOf(watch);
  try {
    warnIfInsecure(request.options, screen);
    await tuneOnItsServer({ ...request, commandLine: [] }, signal, screen);
    return written();
  } finally {
    await request.journal.close();
    await discardEmpty(request.directory);
  }
}

/** The caller's functions in the place of a screen. */
function screenOf({ onEvent, onNote }: TuneWatch): { readonly screen: Screen; written(): Summary } {
  let summary: Summary | null = null;
  const screen: Screen = {
    onEvent: (event) => onEvent?.(event),
    tell: (line) => onNote?.(line),
    onEnd: (run) => {
      summary = run.summary;
      onEvent?.({ type: 'documents-written', ...run });
    },
    untilLeft: () => Promise.resolve(),
    close: () => undefined,
  };
  return {
    screen,
    written: () => {
      if (summary) return summary;
      throw new TrituneError('INTERNAL', 'the study ended without a summary', 'please report it');
    },
  };
}
