import type { Trial } from '#study/types.ts';
import { nextTrial, type StopReason } from '#tuner/ask.ts';
import { BASELINE, type Planning } from '#tuner/run.ts';
import { checkServer } from '#tuner/search.ts';
import { refuseTrial } from '#tuner/trial.ts';
import type { HandedOut } from './handed-out.ts';
import { asOneMeasurement, listPending, withHint } from './plan-levels.ts';
import type { StandIn } from './stand-in.ts';
import type { Work, WorkUnderWay } from './work.ts';

/**
 * The number of trials on a server between two measurements of the original config there, which
 * compare its speed with the others'.
 */
const TRIALS_BETWEEN_ORIGINALS = 24;

/** Chooses the work of each server from the baseline to the end of the search. */
export class SearchWork {
  readonly #run: Planning;
  readonly #handedOut: HandedOut;
  readonly #standIn: StandIn;

  constructor(run: Planning, handedOut: HandedOut, standIn: StandIn) {
    this.#run = run;
    this.#handedOut = handedOut;
    this.#standIn = standIn;
  }

  /**
   * Measures the original config on every server at once, to compare their speeds. If a trial is
   * one measurement, so is the original on the other servers, which then try candidates while the
   * baseline is measured at all its levels. Returns null for no work now.
   */
  async begin(server: string, running: readonly WorkUnderWay[]): Promise<Work | null> {
    const { state } = this.#run.recorder;
    const sampler = this.#run.sampler();
    const candidate = state.started.original;
    const trial = { number: BASELINE, role: 'baseline', candidate, levels: { kind: 'search' } } as const;
    if (!running.some(({ kind, trial: number }) => kind === 'trial' && number === BASELINE))
      return this.#handedOut.trial(server, trial);
    if ((this.#known(server)?.originals ?? 0) === 0) {
      const levels = sampler.comesBack ? asOneMeasurement(trial, sampler, state) : trial.levels;
      return this.#handedOut.original(server, levels);
    }
    const trials = sampler.comesBack ? this.#standIn.trialsIn(state) : null;
    if (trials === null) return null;
    const next = await this.#propose(server, running, trials);
    return next && 'reason' in next ? null : next;
  }

  /**
   * Returns search work for this server, null for none now, or the reason for having none any more.
   */
  async next(server: string, running: readonly WorkUnderWay[]): Promise<Work | StopReason | null> {
    const { state } = this.#run.recorder;
    const level = state.baseline?.measurements.at(-1)?.level;
    const study = this.#known(server);
    const isDue = !study || study.originals === 0 || study.trialsSinceOriginal >= TRIALS_BETWEEN_ORIGINALS;
    if (isDue && level && state.servers.length > 1) {
      const { value, batch } = level;
      return this.#handedOut.original(server, {
        kind: 'fixed',
        values: [value],
        ...(batch !== undefined && { batch }),
      });
    }
    return this.#propose(server, running);
  }

  #known(server: string) {
    return this.#run.recorder.state.servers.find(({ name }) => name === server);
  }

  /**
   * Returns a trial that the sampler or a person asks for, or the reason for having none. `trials`:
   * as in `nextTrial`.
   */
  async #propose(
    server: string,
    running: readonly WorkUnderWay[],
    trials?: readonly Trial[],
  ): Promise<Work | StopReason | null> {
    const { recorder } = this.#run;
    for (;;) {
      checkServer(this.#run);
      const pending = listPending(running, recorder.state);
      const next = await nextTrial(this.#run, trials ? { pending, finishedTrials: trials } : { pending });
      if (next.kind === 'stop') return running.length > 0 ? null : next;
      if (next.refusal) {
        await refuseTrial(this.#run, next.trial, next.refusal);
        continue;
      }
      const sampler = this.#run.sampler();
      const levels = sampler.comesBack
        ? asOneMeasurement(next.trial, sampler, recorder.state)
        : withHint(next.trial.levels, sampler, recorder.state);
      return this.#handedOut.trial(server, { ...next.trial, levels });
    }
  }
}
