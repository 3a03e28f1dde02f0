import { withRunDirectory } from '../../base/restore-advice.ts';
import { modelLine } from '../../headless/closing.ts';
import type { WrittenRun } from '../../report/write-run.ts';
import type { ModelRestored } from '../../study/records/records.ts';
import type { TuneParts, TunePlan } from '../../tuner/run.ts';
import type { TunerEvent } from '../../tuner/seams.ts';
import { tune } from '../../tuner/tune.ts';
import { type DocumentsOf, writeDocuments } from '../output/documents.ts';
import type { OpenStudy } from './open-study.ts';
import { traceReport } from './trace-report.ts';
import type { StudyOutcome, StudyWatch } from './watch.ts';

/**
 * Tunes, and writes the documents, also after an early end. `close` releases the study's resources; it receives the final state of the model, or
 * null if the run has not reported it. Returns how the study ended. Errors: what ended it, OUTPUT_UNWRITABLE.
 */
export async function tuneAndWrite(
  study: OpenStudy,
  plan: TunePlan,
  parts: TuneParts,
  watch: StudyWatch,
  signal: AbortSignal,
  close: (restored: ModelRestored | null) => Promise<void>,
  documentsOf: DocumentsOf | undefined,
): Promise<StudyOutcome> {
  const steered = { ...parts, ...(watch.steering && { steering: watch.steering }) };
  const ending = endingOfModel(watch.onEvent);
  const failure = await tune(plan, steered, ending.onEvent, signal).then(
    async (state) => {
      for (const line of await traceReport(state)) watch.tell(line);
      return null;
    },
    (error: unknown) => ({ error }),
  );
  const { restored } = ending;
  await close(restored);
  const { directory, metrics, spec } = study;
  const written: WrittenRun = await writeDocuments(directory, { restored, metrics, documentsOf }).catch(
    (error: unknown) => {
      if (restored) watch.tell(modelLine(spec.model, restored, directory));
      throw failure ? withRunDirectory(failure.error, directory) : error;
    },
  );
  watch.onEnd(written);
  if (failure) throw withRunDirectory(failure.error, directory);
  if (signal.aborted) return 'interrupted';
  return written.summary.feasible ? 'done' : 'infeasible';
}

interface Ending {
  readonly onEvent: (event: TunerEvent) => void;
  /** The final state of the model; null until the run reports it. */
  readonly restored: ModelRestored | null;
}

/** Takes the final state of the model from the events for observers, because writing the journal may have failed. */
function endingOfModel(watch: (event: TunerEvent) => void): Ending {
  let restored: ModelRestored | null = null;
  return {
    onEvent: (event) => {
      if (event.type === 'model-restored') restored = event;
      watch(event);
    },
    get restored() {
      return restored;
    },
  };
}
