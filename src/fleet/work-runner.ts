import { isTrituneError, TrituneError } from '#base/errors.ts';
import type { StudyRecord } from '#study/records/records.ts';
import type { Trial } from '#study/types.ts';
import { currentSampler } from '#tuner/current-sampler.ts';
import { BASELINE, type Run, type TuneParts, type TunePlan } from '#tuner/run.ts';
import type { TunerEvent } from '#tuner/seams.ts';
import { Steering } from '#tuner/steering.ts';
import { StudyRecorder } from '#tuner/study-recorder.ts';
import { TimeKeeper } from '#tuner/time-keeper.ts';
import { runTrial } from '#tuner/trial.ts';
import type { ServerRestored, Work, WorkOutcome } from './study/work.ts';

/**
 * Does a study's work on one server, with the same trial code as a study on a single server. Its
 * journal holds the server's original state and all changes, so that `tritune restore` can restore
 * the server. Its trials have their own numbers.
 */
export class WorkRunner {
  readonly #run: Omit<Run, 'signal'>;
  readonly #done: Map<string, DoneBefore>;
  readonly #server: string;
  #isOpen = false;

  constructor(server: string, plan: TunePlan, parts: TuneParts, emit: (event: TunerEvent) => void) {
    this.#server = server;
    let work: string | undefined;
    const journal: TuneParts['journal'] = {
      append: (record) => parts.journal.append(work === undefined ? record : ({ ...record, work } as StudyRecord)),
    };
    const recorder = new StudyRecorder(journal, parts.clock, emit, plan.earlier, parts.estimateSpeeds);
    const time = new TimeKeeper(parts.clock, plan, { finalRounds: 0, traced: false }, 0);
    const sampler = currentSampler(parts, plan.study.goal);
    this.#run = { plan, parts, recorder, time, steering: new Steering(), sampler: () => sampler(recorder.state) };
    this.#done = outcomesIn(plan.earlier);
    this.#name = (id) => {
      work = id;
    };
  }

  readonly #name: (work: string | undefined) => void;

  /**
   * Does the work, or returns its outcome if it was done before. Errors: those that say nothing
   * about the candidate; INTERRUPTED, or the signal's reason.
   */
  async run(work: Work, signal: AbortSignal): Promise<WorkOutcome> {
    await this.#open();
    const known = this.#done.get(work.id);
    if (known) return { ...known, work };
    this.#name(work.id);
    try {
      const outcome = await this.#do(work, signal);
      if (outcome.kind === 'done' && outcome.failure?.kind !== 'server-lost') this.#done.set(work.id, outcome);
      return outcome;
    } finally {
      this.#name(undefined);
    }
  }

  /** Restores the server and records how. Never throws: the result says how it went. */
  async restore(): Promise<ServerRestored> {
    const { parts, plan, recorder } = this.#run;
    const restored = await parts.adapter.restore().catch((error: unknown) => ({
      how: 'failed' as const,
      verified: false,
      detail: error instanceof Error ? error.message : String(error),
    }));
    if (this.#isOpen || plan.earlier.length > 0) await recorder.conclude({ type: 'model-restored', ...restored });
    return { server: this.#server, ...restored };
  }

  /** Runs before anything is changed. From here on, `tritune restore` can restore the server. */
  async #open(): Promise<void> {
    if (this.#isOpen) return;
    const { plan, recorder } = this.#run;
    if (plan.earlier.length === 0) await recorder.record({ type: 'study-started', ...plan.study });
    else await recorder.record({ type: 'study-resumed', server: plan.study.server });
    this.#isOpen = true;
  }

  async #do(work: Work, signal: AbortSignal): Promise<WorkOutcome> {
    const { recorder, parts } = this.#run;
    const built = parts.adapter.build(work.assignment);
    if (!built.legal || built.candidate.fingerprint !== work.fingerprint)
      return { kind: 'unfit', work, reason: otherModel(built.legal ? null : built.reason) };
    const isOriginal = work.trial === BASELINE;
    const earlier = isOriginal ? recorder.state.baseline?.measurements : undefined;
    const number = isOriginal ? BASELINE : nextNumber(recorder.state.trials);
    try {
      await runTrial(
        { ...this.#run, signal },
        {
          number,
          role: isOriginal ? 'baseline' : 'search',
          candidate: built.candidate,
          levels: work.levels,
          ...(earlier && { earlier }),
          ...(work.isFull && { isFinal: true }),
        },
      );
    } catch (error) {
      if (signal.aborted || !isTrituneError(error)) throw error;
      if (error.code === 'SERVER_UNREACHABLE') return { kind: 'lost', work, reason: error.message };
      if (isOriginal && error.code === 'SERVER_FAILED') return { kind: 'unfit', work, reason: error.message };
      throw error;
    }
    const trial = recorder.state.trials.find((each) => each.number === number);
    if (!trial) throw new TrituneError('INTERNAL', `trial ${number} left no record`, 'please report it');
    return doneBy(work, trial, earlier?.length ?? 0);
  }
}

function doneBy(work: Work, { applied, measurements, failure }: Trial, before: number): WorkOutcome {
  return { kind: 'done', work, ...(applied && { applied }), measurements: measurements.slice(before), failure };
}

const nextNumber = (trials: readonly Trial[]): number =>
  trials.reduce((highest, { number }) => Math.max(highest, number), BASELINE) + 1;

const otherModel = (reason: string | null): string =>
  `the model or its config is another one than where the study began${reason === null ? '' : `: ${reason}`}`;

/** The outcome of work that was done before. */
type DoneBefore = Omit<Extract<WorkOutcome, { readonly kind: 'done' }>, 'work'>;

/** Returns the outcomes of earlier work by its id. Unfinished work is done again. */
function outcomesIn(records: readonly StudyRecord[]): Map<string, DoneBefore> {
  const done = new Map<string, DoneBefore>();
  const keptRecords = records.filter((record) => 'work' in record && record.work !== undefined);
  for (const [id, parts] of Map.groupBy(keptRecords, (record) => (record as { readonly work: string }).work)) {
    const ended = parts.findLast((record) => record.type === 'trial-finished');
    if (ended?.type !== 'trial-finished' || ended.failure?.kind === 'server-lost') continue;
    const begun = parts.findLastIndex((record) => record.type === 'trial-started');
    const last = parts.slice(begun);
    const applied = last.findLast((record) => record.type === 'trial-applied');
    const measurements = last.flatMap((record) => (record.type === 'trial-measured' ? [record.measurement] : []));
    done.set(id, {
      kind: 'done',
      measurements,
      failure: ended.failure,
      ...(applied?.type === 'trial-applied' && { applied: toApplied(applied) }),
    });
  }
  return done;
}

const toApplied = ({
  change,
  loadMs,
  buildMs,
  accuracy,
}: Extract<StudyRecord, { readonly type: 'trial-applied' }>) => ({
  change,
  loadMs,
  ...(buildMs !== undefined && { buildMs }),
  ...(accuracy && { accuracy }),
});
