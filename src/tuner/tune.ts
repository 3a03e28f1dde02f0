import { TrituneError } from '../base/errors.ts';
import { MS_PER_S } from '../base/units.ts';
import { isFinalOver } from '../study/final.ts';
import type { StudyState } from '../study/state.ts';
import { currentSampler } from './current-sampler.ts';
import { runFinal } from './final.ts';
import { heedChanges } from './heed.ts';
import { Ledger } from './ledger.ts';
import { coded } from './outcome.ts';
import { BASELINE, type Run, type TuneParts, type TunePlan } from './run.ts';
import type { TunerEvent } from './seams.ts';
import { joinReasons, runSearch, tellLimits } from './search.ts';
import { Steering } from './steering.ts';
import { TimeKeeper } from './time-keeper.ts';
import { endTracing, traceBest } from './trace-best.ts';
import { runTrial } from './trial.ts';
import { openFinal, visitOriginal } from './visit-original.ts';

interface Ending {
  readonly stopReason: string;
  /** null for a run that came to its end or was interrupted. */
  readonly error: TrituneError | null;
  readonly interrupted: boolean;
}

/**
 * Tunes: baseline, search, final; then, whatever happened, puts the model back. A resumed study goes on after its last
 * finished trial. An interrupted run resolves, with what was found so far. Errors: RESTORE_FAILED when the model could
 * not be put back; else what ended the run: SERVER_UNREACHABLE, SERVER_FAILED, FOREIGN_TRAFFIC, UNSUPPORTED, OUTPUT_UNWRITABLE, INTERNAL, …
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
  heedChanges(run);
  const ending = await search(run).catch(endingOf(signal));
  run.steering.listen(null);
  const restoreError = await restore(run);
  const unwritten = await run.ledger.conclude({
    type: 'study-finished',
    stopReason: ending.stopReason,
    interrupted: ending.interrupted,
    wallSeconds: run.time.elapsedMs / MS_PER_S,
  });
  const error = restoreError ? joined(restoreError, ending) : (ending.error ?? unwritten);
  if (error) throw error;
  if (run.ledger.watcherFault) throw coded(run.ledger.watcherFault.error);
  return run.ledger.state;
}

function begin(plan: TunePlan, parts: TuneParts, emit: (event: TunerEvent) => void, signal: AbortSignal): Run {
  const ledger = new Ledger(parts.journal, parts.clock, emit, plan.earlier, parts.estimateSpeeds);
  const spentMs = plan.earlier.length > 0 ? ledger.state.elapsedSeconds * MS_PER_S : 0;
  const afterSearch = { finalRounds: plan.finalRounds, traced: parts.tracing !== undefined };
  const time = new TimeKeeper(parts.clock, plan, afterSearch, spentMs);
  const steering = parts.steering ?? new Steering();
  const sampler = currentSampler(parts, plan.study.goal);
  return { plan, parts, ledger, time, steering, sampler: () => sampler(ledger.state), signal };
}

/** Before anything is changed: from here on `tritune restore` can put the model back. */
async function writeOpening(run: Run): Promise<void> {
  const { plan, ledger } = run;
  if (plan.earlier.length === 0) await ledger.record({ type: 'study-started', ...plan.study });
  else await ledger.record({ type: 'study-resumed', server: plan.study.server });
  tellLimits(run);
}

async function search(run: Run): Promise<Ending> {
  const { ledger, plan } = run;
  if (ledger.state.gain && isFinalOver(ledger.state, plan.finalRounds))
    return ended(joinReasons('the study was already finished', await traceBest(run)));
  if (!ledger.state.baseline) {
    const candidate = ledger.state.unfinished?.candidate ?? plan.baseline;
    await runTrial(run, { number: BASELINE, role: 'baseline', candidate, levels: { kind: 'search' } });
  }
  const stopReason = ledger.state.finals.length > 0 ? 'resumed in the final' : await searchToItsEnd(run);
  const cutShort = await runFinal(run);
  return ended(joinReasons(stopReason, cutShort, await traceBest(run)));
}

/** Where the original config, measured again, shows that the speed was another than thought, the search goes on with what is now known. */
async function searchToItsEnd(run: Run): Promise<string> {
  const stopReason = await runSearch(run);
  const hasDrifted = await visitOriginal(run);
  if (!hasDrifted) {
    await openFinal(run);
    return stopReason;
  }
  return runSearch(run);
}

/** Puts back what the run has changed. Never throws: the run's own outcome must come out too. */
async function restore(run: Run): Promise<TrituneError | null> {
  run.ledger.notify({ type: 'restoring' });
  const tracingError = await endTracing(run);
  return (await restoreModel(run)) ?? tracingError;
}

/** Writes down how. */
async function restoreModel(run: Run): Promise<TrituneError | null> {
  try {
    const restored = await run.parts.control.restore();
    await run.ledger.conclude({ type: 'model-restored', ...restored });
    return restored.verified ? null : notVerified(restored.detail);
  } catch (error) {
    const { message } = coded(error);
    await run.ledger.conclude({ type: 'model-restored', how: 'failed', verified: false, detail: message });
    return coded(error);
  }
}

const ended = (stopReason: string): Ending => ({ stopReason, error: null, interrupted: false });

function endingOf(signal: AbortSignal): (error: unknown) => Ending {
  return (thrown) => {
    if (signal.aborted) return { stopReason: 'interrupted', error: null, interrupted: true };
    const error = coded(thrown);
    return { stopReason: `${error.code}: ${error.message}`, error, interrupted: false };
  };
}

function notVerified(detail: string): TrituneError {
  return new TrituneError(
    'RESTORE_FAILED',
    `the model's config is not the original one: ${detail}`,
    'run `tritune restore` on the output directory',
  );
}

/** The failed restore is what matters most now; why the run ended before it must not be lost. */
function joined(restoreError: TrituneError, ending: Ending): TrituneError {
  const before = ending.error ? ` (the run had ended with ${ending.error.code}: ${ending.error.message})` : '';
  if (restoreError.code === 'RESTORE_FAILED' && before === '') return restoreError;
  return new TrituneError('RESTORE_FAILED', `${restoreError.message}${before}`, restoreError.hint, {
    cause: restoreError,
  });
}
