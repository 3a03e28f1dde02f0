import { discardEmpty } from '../app/output/directory.ts';
import { warnIfInsecure } from '../app/server/tls.ts';
import { type OpenStudy, openStudy, resumeStudy } from '../app/study/open-study.ts';
import { resumedSpec } from '../app/study/resumed-spec.ts';
import { tuneOnItsServer } from '../app/study/run-study.ts';
import type { StudyWatch } from '../app/study/watch.ts';
import { realClock } from '../base/clock.ts';
import { TrituneError } from '../base/errors.ts';
import type { WrittenRun } from '../report/write-run.ts';
import type { Summary } from '../study/summary/summary.ts';
import type { TunerEvent } from '../tuner/seams.ts';
import { type Asked, askedOf, specIn, type TuneOptions } from './options.ts';

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
export async function tune(options: TuneOptions, { onEvent, onNote, signal }: TuneWatch = {}): Promise<Summary> {
  const study = await opened(options, askedOf(options));
  const { watch, written } = watchOf({ onEvent, onNote });
  try {
    warnIfInsecure(study.spec.server, watch);
    await tuneOnItsServer(study, signal ?? new AbortController().signal, watch);
    return written();
  } finally {
    await study.journal.close();
    await discardEmpty(study.directory);
  }
}

function opened(options: TuneOptions, asked: Asked): Promise<OpenStudy> {
  const own = { sampler: asked.sampler, adapter: asked.adapter, metrics: options.metrics };
  return options.resume === undefined
    ? openStudy(specIn(options, asked), own, realClock.wallMs())
    : resumeStudy(options.resume, (kept) => resumedSpec(kept, asked.options, asked.named), own);
}

/** The caller's functions as a watch, and the summary that it heard of. */
function watchOf({ onEvent, onNote }: Pick<TuneWatch, 'onEvent' | 'onNote'>): {
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
