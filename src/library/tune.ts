import { discardEmpty } from '#app/run-directory.ts';
import { withStudyProtocol } from '#app/server/find-protocol.ts';
import { warnIfInsecure } from '#app/server/tls.ts';
import { openStudy, resumeStudy, resumeTrust } from '#app/study/open-study.ts';
import { resumedSpec } from '#app/study/resumed-spec.ts';
import type { OpenStudy } from '#app/study/study.ts';
import { tuneStudy } from '#app/study/tune-study.ts';
import type { StudyWatch } from '#app/study/watch.ts';
import { realClock } from '#base/clock.ts';
import { TrituneError } from '#base/errors.ts';
import type { WrittenRun } from '#report/write-run.ts';
import type { Summary } from '#study/summary/summary-schema.ts';
import type { TunerEvent } from '#tuner/seams.ts';
import { type CheckedOptions, checkOptions, specIn, type TuneOptions } from './options.ts';

/** The last event: the summary, and the paths of the written documents. */
export type DocumentsWritten = { readonly type: 'documents-written' } & WrittenRun;

/**
 * Events of a run, as `--ui json` prints them: every record of the journal, progress between them,
 * and the documents.
 */
export type TuneEvent = TunerEvent | DocumentsWritten;

export interface TuneWatch {
  /**
   * Called with each event, in order. An error that it throws does not stop the run; the run
   * rejects with it at its end.
   */
  readonly onEvent?: (event: TuneEvent) => void;
  /**
   * Called with messages for people, such as assumptions about inputs or an unverified connection.
   */
  readonly onNote?: (line: string) => void;
  /**
   * Aborting ends the run in order: the model is restored, and the summary has the results so far.
   */
  readonly signal?: AbortSignal;
}

/**
 * Runs `tritune tune` for one model: tunes it on a running server or on one started for the run,
 * writes the documents to `output`, and restores the model. Resolves to the summary, also if
 * nothing met the budget (`feasible` is false) or the signal was aborted (`interrupted` is true).
 * It handles no signals of the process. Errors: a TrituneError if the study ended otherwise, such
 * as USAGE, SERVER_UNREACHABLE or RESTORE_FAILED.
 */
export async function tune(options: TuneOptions, { onEvent, onNote, signal }: TuneWatch = {}): Promise<Summary> {
  const reached = await withStudyProtocol(options);
  const { watch, written } = createWatch({ onEvent, onNote });
  const study = await opened(reached, checkOptions(reached), watch.tell);
  try {
    warnIfInsecure(study.spec.server, watch);
    await tuneStudy(study, signal ?? new AbortController().signal, watch);
    return written();
  } finally {
    await study.journal.close();
    await discardEmpty(study.directory);
  }
}

function opened(options: TuneOptions, request: CheckedOptions, tell: (line: string) => void): Promise<OpenStudy> {
  const parts = { sampler: request.sampler, adapter: request.adapter, metrics: options.metrics };
  return options.resume === undefined
    ? openStudy(specIn(options, request), parts, realClock.wallMs())
    : resumeStudy(
        options.resume,
        (kept) => resumedSpec(kept, request.options, request.named),
        resumeTrust(request.options, options.trustRun, { tell, advice: 'pass trustRun: true' }),
        parts,
      );
}

/** Adapts the caller's functions to a watch, and keeps the summary. */
function createWatch({ onEvent, onNote }: Pick<TuneWatch, 'onEvent' | 'onNote'>): {
  readonly watch: StudyWatch;
  written(): Summary;
} {
  let summary: Summary | null = null;
  const watch: StudyWatch = {
    onEvent: (event) => onEvent?.(event),
    tell: (line) => onNote?.(line),
    onEnd: (run) => {
      summary = run.summary;
      onEvent?.({ type: 'documents-written', ...run });
    },
  };
  return {
    watch,
    written: () => {
      if (summary) return summary;
      throw new TrituneError('INTERNAL', 'the study ended without a summary', 'please report it');
    },
  };
}
