import { realClock } from '#base/clock.ts';
import { isTrituneError } from '#base/errors.ts';
import { plainLine } from '#base/format.ts';
import { withRunDirectory } from '#base/restore-advice.ts';
import { modelLine } from '#headless/closing.ts';
import { traceLines } from '#headless/trace-lines.ts';
import type { WrittenRun } from '#report/write-run.ts';
import type { StudyState } from '#study/records/state.ts';
import type { TunerEvent } from '#tuner/seams.ts';
import { tune } from '#tuner/tune.ts';
import { writeDocuments } from '../run-documents.ts';
import { readServerMachine } from '../server/devices.ts';
import { onTarget, type StudyEnding } from './on-target.ts';
import { planStudy } from './plan-study.ts';
import { readTraceFiles } from './read-traces.ts';
import type { OpenStudy, Target } from './study.ts';
import type { StudyOutcome, StudyWatch } from './watch.ts';

/** Ways to launch a server that writes its traces next to its log. */
const onOurDisk: readonly string[] = ['local', 'docker'];

/**
 * Returns the report after a run with `--trace`: the summary if the server's disk is ours, else the
 * place of the file. Empty without a trace.
 */
async function traceReport({ tracing, started }: StudyState): Promise<readonly string[]> {
  if (!tracing?.ended) return [];
  const { file, trial } = tracing.started;
  if (!onOurDisk.includes(`${started.spec.server.launch}`)) {
    return [`the traces of trial ${trial} are in ${plainLine(file)} on the server's disk: there, run tritune trace`];
  }
  try {
    return [`the traces of trial ${trial}, in ${plainLine(file)}:`, ...traceLines(await readTraceFiles([file]), false)];
  } catch (error) {
    if (!isTrituneError(error)) throw error;
    return [`no traces of trial ${trial}: ${error.message}`];
  }
}

/**
 * Tunes the target of a study, and writes the documents, also after an early end. Returns how it
 * ended. Errors: those of `onTarget`, what ended the study, OUTPUT_UNWRITABLE.
 */
export const tuneStudy = (study: OpenStudy, signal: AbortSignal, watch: StudyWatch): Promise<StudyOutcome> =>
  onTarget(study, { signal, tell: watch.tell }, (target, ending) => tuneTarget(study, target, ending, signal, watch));

async function tuneTarget(
  study: OpenStudy,
  target: Target,
  ending: StudyEnding,
  signal: AbortSignal,
  watch: StudyWatch,
): Promise<StudyOutcome> {
  const { plan, usual, sampler, samplerFor } = planStudy(
    { ...study, machine: await readServerMachine(target.identity) },
    target,
  );
  const { directory, journal, metrics, spec } = study;
  const { adapter, tracing } = target;
  const { steering } = watch;
  const parts = {
    adapter,
    sampler,
    samplerFor,
    journal,
    clock: realClock,
    ...(tracing && { tracing }),
    ...(steering && { steering }),
  };
  const timed = usual ? { ...plan, usual: usual(await target.look()) } : plan;
  const onEvent = (event: TunerEvent): void => {
    ending.note(event);
    watch.onEvent(event);
  };
  const failure = await tune(timed, parts, onEvent, signal).then(
    async (state) => {
      for (const line of await traceReport(state)) watch.tell(line);
      return null;
    },
    (error: unknown) => ({ error }),
  );
  const { restored } = ending;
  const listDocuments = adapter.documents;
  const written: WrittenRun = await writeDocuments(directory, { restored, metrics, listDocuments }).catch(
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
