import { catchUp } from '#base/abort.ts';
import { largestRequest } from '#perfmodel/modelled-config.ts';
import { plainShape } from '#space/shape.ts';
import { nextFinal } from '#study/final/final.ts';
import type { StudyState } from '#study/records/state.ts';
import { pruneReason } from '#study/search/pruning.ts';
import type { Doubted, PendingTrial, Proposal, Trial, TrialFailure, Wish } from '#study/types.ts';
import { BASELINE, type Planning } from './run.ts';
import type { Assigned } from './trial.ts';

/** The next step of a search. */
export type NextStep =
  | {
      readonly kind: 'trial';
      readonly trial: Assigned;
      /** Why it never reaches a server; null if it does. */
      readonly refusal: TrialFailure | null;
    }
  | ({ readonly kind: 'stop' } & StopReason);

/** Why a search or a run ended. */
export interface StopReason {
  /** One reason, without an end. */
  readonly reason: string;
  /** What else there is to say about the end; the most important first. */
  readonly notes: readonly string[];
}

/** Additional knowledge in a study over several servers. */
interface Beside {
  /**
   * Trials in progress on other servers. A stop then means that nothing is worth a trial until one
   * of these has finished.
   */
  readonly pending?: readonly PendingTrial[];
  /** The trials that the sampler sees as finished, if they differ from the study's record. */
  readonly finishedTrials?: readonly Trial[];
}

/**
 * Returns what to try next: first the user's requests, then the sampler's proposals. Errors: those
 * of the journal.
 */
export async function nextTrial(
  run: Planning,
  { pending = [], finishedTrials: shownTrials }: Beside = {},
): Promise<NextStep> {
  const { plan, recorder, time } = run;
  await recorder.settled();
  await recordDoubted(run);
  await catchUp();
  const { trials, compared, requested } = recorder.state;
  const done = trials.filter((trial) => trial.role === 'search').length + pending.length;
  const number = nextNumber(recorder.state);
  const wish = requested[0];
  if (wish) return assigned(run, wish, number, { requested: true });
  const hasFinalists = isFinalAhead(recorder.state, plan.finalRounds);
  const limit = findLimit(run, { done, hasFinalists });
  const pace = time.computePace(hasFinalists ? plan.finalRounds : 0);
  const left = { trials: plan.maxTrials - done, seconds: time.searchSecondsLeft, ...(pace && { pace }) };
  const history = { trials: shownTrials ?? compared.trials, ...(pending.length > 0 && { pending }) };
  const answer = run.sampler().ask(history, left);
  if (answer.kind === 'stop') return { kind: 'stop', reason: limit ?? answer.reason, notes: [] };
  if (limit !== null) return { kind: 'stop', reason: limit, notes: formatPromise(answer) };
  const { assignment, expectedGain = null, chance = null, foreseen = [], bottleneck } = answer;
  const why = bottleneck && { bottleneck };
  recorder.notify({ type: 'proposed', assignment, expectedGain, chance, foreseen, ...why });
  return assigned(run, answer, number);
}

/**
 * True if a final would follow the search now. The same while the trials stand as they do, so that
 * a batch of proposals needs one answer.
 */
function isFinalAhead(state: StudyState, rounds: number): boolean {
  const { trials } = state.compared;
  const known = finalsAhead.get(trials) ?? nextFinal(state, rounds) !== null;
  finalsAhead.set(trials, known);
  return known;
}

const finalsAhead = new WeakMap<readonly Trial[], boolean>();

const nextNumber = ({ trials, open }: StudyState): number =>
  [...trials, ...open].reduce((highest, { number }) => Math.max(highest, number), BASELINE) + 1;

/** Returns the suspected false-feasible readings, if they changed. */
async function recordDoubted({ recorder, sampler }: Planning): Promise<void> {
  const { compared, doubted: before } = recorder.state;
  const readings = sampler().doubted?.({ trials: compared.trials }) ?? [];
  const known = new Set(before.map(toKey));
  if (readings.length === known.size && readings.every((each) => known.has(toKey(each)))) return;
  await recorder.record({ type: 'readings-doubted', readings });
}

const toKey = ({ trial, reading }: Doubted): string => `${trial} ${reading}`;

/** Returns the limit that allows no further trial; null if none does. */
function findLimit(
  { plan, time }: Planning,
  { done, hasFinalists }: { readonly done: number; readonly hasFinalists: boolean },
): string | null {
  if (done >= plan.maxTrials)
    return `the limit of ${plan.maxTrials} ${plan.maxTrials === 1 ? 'trial' : 'trials'} was reached`;
  return time.allowsTrial({ hasFinalists }) ? null : time.lackOfTime({ hasFinalists });
}

/** Returns the benefit of continuing, if the sampler has an estimate. */
const formatPromise = ({ expectedGain, unseen = [] }: Proposal): readonly string[] => [
  ...(expectedGain === undefined ? [] : [`another trial was expected to gain ${(100 * expectedGain).toFixed(1)} %`]),
  ...(unseen.length === 0 ? [] : [`never measured: ${unseen.join(', ')}`]),
];

/**
 * Returns the trial of a proposal. A trial that the user requests is tried even if it is known to
 * fail.
 */
function assigned(
  run: Planning,
  { assignment, levels, bottleneck, prior }: Wish & Pick<Proposal, 'bottleneck' | 'prior'>,
  number: number,
  { requested }: { readonly requested: boolean } = { requested: false },
): NextStep {
  const outcome = run.parts.adapter.build(assignment);
  if (!outcome.legal) {
    const unbuilt = { fingerprint: `illegal-${number}`, assignment, value: {}, shape: plainShape({}) };
    const trial: Assigned = { number, role: 'search', candidate: unbuilt, levels, requested };
    return { kind: 'trial', trial, refusal: { kind: 'illegal', reason: outcome.reason } };
  }
  const trial: Assigned = {
    number,
    role: 'search',
    candidate: outcome.candidate,
    levels,
    requested,
    bottleneck,
    prior,
  };
  const { batch } = run.plan.study.levels;
  const largest = largestRequest(outcome.candidate.shape);
  if (batch && batch.low > largest) {
    const reason = `its requests have ${batch.low} samples at least, and it takes ${largest} at most`;
    return { kind: 'trial', trial, refusal: { kind: 'illegal', reason } };
  }
  const pruned = requested ? null : pruneReason(outcome.candidate, run.recorder.state.trials);
  return { kind: 'trial', trial, refusal: pruned ? { kind: 'pruned', reason: pruned } : null };
}
