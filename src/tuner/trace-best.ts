import { formatMessage, TrituneError } from '#base/errors.ts';
import { RESTORE_THE_RUN } from '#base/restore-advice.ts';
import type { ProfileProgress } from '#profiler/progress.ts';
import { representative } from '#study/final/final.ts';
import { toFailure } from './outcome.ts';
import type { Run } from './run.ts';
import { applyCandidate, measureOnce } from './trial.ts';

/** Traced requests per second: enough for percentiles, and too few to slow a server down. */
const TRACES_PER_SECOND = 500;
const PUT_BACK_WAITS_MS = [500, 2_000, 5_000];

/**
 * Measures the best once more at its level with the server tracing, if tracing is requested. That
 * measurement is not part of the study's figures. Traces the windows after the first, so that
 * nothing cold is among them. Leaves the server tracing: `endTracing` restores its settings.
 * Returns why there are no traces, or null. Errors: those that end the run.
 */
export async function traceBest(run: Run): Promise<string | null> {
  const { parts, recorder } = run;
  const { best, tracing: before } = recorder.state;
  const stands = best && representative(recorder.state, best);
  if (!parts.tracing || !stands || before?.ended) return null;
  const { tracing } = parts;
  if (!run.time.allowsTrace) return 'no time was left to trace the best';
  const { number, candidate } = best;
  const { throughput, level } = stands.measurement;
  const started: Promise<string | null>[] = [];
  try {
    const applied = await applyCandidate(run, number, candidate);
    // A run that was killed while it traced has left its own settings; the journal has the earlier
    // ones.
    const { earlier, file } = before ? before.started : await tracing.look();
    await recorder.record({ type: 'tracing-started', trial: number, earlier, file });
    const rate = Math.max(1, Math.ceil(throughput.value / TRACES_PER_SECOND));
    const watch = ({ phase }: ProfileProgress): void => {
      if (phase === 'window' && started.length === 0) started.push(tracing.start(rate).then(() => null, formatMessage));
    };
    await measureOnce(run, number, applied, level, { watch });
    const fault = started[0] ? await started[0] : 'the measurement was over too soon';
    return fault === null ? null : `the server did not trace: ${fault}`;
  } catch (error) {
    const failure = toFailure(error, 'measure');
    if (failure === null || failure.kind === 'server-lost' || run.signal.aborted) throw error;
    return `trial ${number} could not be traced: ${failure.reason}`;
  } finally {
    // A change still in progress must not arrive after the one that reverts it.
    await started[0];
  }
}

/**
 * Restores the server's trace settings if this study has changed them, and records the outcome.
 * Never throws.
 */
export async function endTracing({ parts, recorder }: Run): Promise<TrituneError | null> {
  const { tracing: state } = recorder.state;
  if (!state || state.ended?.verified || !parts.tracing) return null;
  let fault = '';
  for (const waitMs of [...PUT_BACK_WAITS_MS, null]) {
    try {
      if (await parts.tracing.putBack(state.started.earlier)) {
        await recorder.conclude({ type: 'tracing-ended', verified: true, detail: 'as they were before' });
        return null;
      }
      fault = 'the server has other settings than were sent';
    } catch (error) {
      fault = formatMessage(error);
    }
    if (waitMs !== null) await parts.clock.sleep(waitMs);
  }
  await recorder.conclude({ type: 'tracing-ended', verified: false, detail: fault });
  return new TrituneError(
    'RESTORE_FAILED',
    `the server's trace settings could not be restored: ${fault}`,
    `when the server answers again, ${RESTORE_THE_RUN}`,
  );
}
