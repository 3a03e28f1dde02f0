import { asTrituneError, TrituneError } from '#base/errors.ts';
import { RESTORE_THE_RUN } from '#base/restore-advice.ts';
import { MS_PER_S } from '#base/units.ts';
import { isFinalOver } from '#study/final/final.ts';
import type { StudyState } from '#study/records/state.ts';
import type { StopReason } from './ask.ts';
import { certifyBest } from './certify.ts';
import { currentSampler } from './current-sampler.ts';
import { runFinal } from './final.ts';
import { BASELINE, type Run, type TuneParts, type TunePlan } from './run.ts';
import type { TunerEvent } from './seams.ts';
import { ALREADY_SEARCHED, runSearch, tellLimits } from './search.ts';
import { Steering } from './steering.ts';
import { StudyRecorder } from './study-recorder.ts';
import { TimeKeeper } from './time-keeper.ts';
import { endTracing, traceBest } from './trace-best.ts';
import { runTrial } from './trial.ts';
import { recordUserCommands } from './user-commands.ts';
import { openFinal, visitOriginal } from './visit-original.ts';

interface Ending extends StopReason {
  /** null if the run came to its end or was interrupted. */
  readonly error: TrituneError | null;
  readonly interrupted: boolean;
}

/**
 * Tunes: baseline, search, final; then always restores the model. A resumed study continues after
 * its last finished trial. An interrupted run resolves with its results so far. Errors:
 * RESTORE_FAILED when the model could not be restored; else the error that ended the run:
 * SERVER_UNREACHABLE, SERVER_FAILED, FOREIGN_TRAFFIC, UNSUPPORTED, OUTPUT_UNWRITABLE, INTERNAL, …
 * The journal holds the partial results in every case.
 */
export async function tune(
  plan: TunePlan,
  parts: TuneParts,
  emit: (event: TunerEvent) => void,
  signal: AbortSignal,
): Promise<StudyState> {
  const run = begin(plan, parts, emit, signal);
  await writeOpening(run);
  recordUserCommands(run);
  const ending = await search(run).catch(createEnding(signal));
  run.steering.listen(null);
  const restoreError = await restore(run);
  // After the restore, because it can take seconds.
  const certificate = ending.error || ending.interrupted ? null : certifyBest(run);
  const unwritten = await run.recorder.conclude({
    type: 'study-finished',
    stopReason: ending.reason,
    ...(ending.notes.length > 0 && { notes: ending.notes }),
    ...(certificate && { certificate }),
    interrupted: ending.interrupted,
    wallSeconds: run.time.elapsedMs / MS_PER_S,
  });
  const error = restoreError ? joined(restoreError, ending) : (ending.error ?? unwritten);
  if (error) throw error;
  if (run.recorder.watcherFault) throw asTrituneError(run.recorder.watcherFault.error);
  return run.recorder.state;
}

function begin(plan: TunePlan, parts: TuneParts, emit: (event: TunerEvent) => void, signal: AbortSignal): Run {
  const recorder = new StudyRecorder(parts.journal, parts.clock, emit, plan.earlier, parts.estimateSpeeds);
  const spentMs = plan.earlier.length > 0 ? recorder.state.elapsedSeconds * MS_PER_S : 0;
  const afterSearch = { finalRounds: plan.finalRounds, traced: parts.tracing !== undefined };
  const time = new TimeKeeper(parts.clock, plan, afterSearch, spentMs);
  const steering = parts.steering ?? new Steering();
  const sampler = currentSampler(parts, plan.study.goal);
  return { plan, parts, recorder, time, steering, sampler: () => sampler(recorder.state), signal };
}

/** Written before any change: from here on `tritune restore` can restore the model. */
async function writeOpening(run: Run): Promise<void> {
  const { plan, recorder } = run;
  if (plan.earlier.length === 0) await recorder.record({ type: 'study-started', ...plan.study });
  else await recorder.record({ type: 'study-resumed', server: plan.study.server });
  tellLimits(run);
}

async function search(run: Run): Promise<Ending> {
  const { recorder, plan } = run;
  if (recorder.state.gain && isFinalOver(recorder.state, plan.finalRounds))
    return ended({ reason: 'the study was already finished', notes: [] }, await traceBest(run));
  if (!recorder.state.baseline) {
    const candidate = recorder.state.unfinished?.candidate ?? plan.study.original;
    await runTrial(run, { number: BASELINE, role: 'baseline', candidate, levels: { kind: 'search' } });
  }
  const isInFinal = recorder.state.finals.length > 0;
  const searched = isInFinal ? { reason: ALREADY_SEARCHED, notes: [] } : await searchAgain(run, await runSearch(run));
  const cutShort = await runFinal(run);
  return ended(searched, cutShort, await traceBest(run));
}

/**
 * Continues after a search, or ends it. If the original config, measured again, shows another speed
 * of the machine than estimated, the search continues with the new estimate.
 */
async function searchAgain(run: Run, searched: StopReason): Promise<StopReason> {
  if (await visitOriginal(run)) return runSearch(run);
  await openFinal(run);
  return searched;
}

/** Reverts the changes of the run. Never throws, so that the run's own outcome is reported too. */
async function restore(run: Run): Promise<TrituneError | null> {
  run.recorder.notify({ type: 'restoring' });
  const tracingError = await endTracing(run);
  return (await restoreModel(run)) ?? tracingError;
}

/** Restores the model and records the outcome. */
async function restoreModel(run: Run): Promise<TrituneError | null> {
  try {
    const restored = await run.parts.adapter.restore();
    await run.recorder.conclude({ type: 'model-restored', ...restored });
    return restored.verified ? null : notVerified(restored.detail);
  } catch (error) {
    const { message } = asTrituneError(error);
    await run.recorder.conclude({ type: 'model-restored', how: 'failed', verified: false, detail: message });
    return asTrituneError(error);
  }
}

/** `later`: what went wrong after the search, which weighs more than what the search says. */
const ended = ({ reason, notes }: StopReason, ...later: readonly (string | null)[]): Ending => ({
  reason,
  notes: [...later.filter((note) => note !== null), ...notes],
  error: null,
  interrupted: false,
});

function createEnding(signal: AbortSignal): (error: unknown) => Ending {
  return (thrown) => {
    if (signal.aborted) return { reason: 'interrupted', notes: [], error: null, interrupted: true };
    const error = asTrituneError(thrown);
    return { reason: `${error.code}: ${error.message}`, notes: [], error, interrupted: false };
  };
}

function notVerified(detail: string): TrituneError {
  return new TrituneError('RESTORE_FAILED', `the model's config is not the original one: ${detail}`, RESTORE_THE_RUN);
}

/** The failed restore matters most now; the reason why the run ended before it must not be lost. */
function joined(restoreError: TrituneError, ending: Ending): TrituneError {
  const before = ending.error ? ` (the run had ended with ${ending.error.code}: ${ending.error.message})` : '';
  if (restoreError.code === 'RESTORE_FAILED' && before === '') return restoreError;
  return new TrituneError('RESTORE_FAILED', `${restoreError.message}${before}`, restoreError.hint, {
    cause: restoreError,
  });
}
