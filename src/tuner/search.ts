import { throwIfInterrupted } from '../base/abort.ts';
import { TrituneError } from '../base/errors.ts';
import { MS_PER_S } from '../base/units.ts';
import { largestRequest } from '../perfmodel/modelled-config.ts';
import { plainShape } from '../space/shape.ts';
import { nextFinal } from '../study/final/final.ts';
import { pruneReason } from '../study/search/pruning.ts';
import type { Doubted, Proposal, Wish } from '../study/types.ts';
import { BASELINE, type Run } from './run.ts';
import { type Assigned, refuseTrial, runTrial } from './trial.ts';
import { waitWhilePaused } from './user-commands.ts';

/** So many trials in a row that the server fails without a verdict on the candidate end the run. */
const MAX_SERVER_FAILURES = 3;
/** Loads that are faster than was thought shorten the run: by so much whoever watches is told. */
const WORTH_TELLING_SECONDS = 1;

/** How long the run may take, and does as a rule. */
export function tellLimits({ plan, recorder, time: { usualSeconds } }: Run): void {
  const orNull = (limit: number): number | null => (Number.isFinite(limit) ? limit : null);
  const [maxTrials, timeBudgetSeconds] = [orNull(plan.maxTrials), orNull(plan.timeBudgetMs / MS_PER_S)];
  recorder.notify({ type: 'limits', maxTrials, timeBudgetSeconds, usualSeconds });
}

export const joinReasons = (...reasons: readonly (string | null)[]): string =>
  reasons.filter((reason) => reason !== null).join('; ');

/** The loop: ask, apply, measure, tell. Returns why it stopped. */
export async function runSearch(run: Run): Promise<string> {
  const { plan, recorder, time } = run;
  let told = time.usualSeconds;
  for (;;) {
    throwIfInterrupted(run.signal);
    if (Math.abs((time.usualSeconds ?? 0) - (told ?? 0)) >= WORTH_TELLING_SECONDS) {
      tellLimits(run);
      told = time.usualSeconds;
    }
    if (recorder.state.unfinished) {
      await runTrial(run, recorder.state.unfinished);
      continue;
    }
    checkServer(run);
    await waitWhilePaused(run);
    if (run.steering.stopsSearch) return 'stopped by the user';
    await recorder.settled();
    await recordDoubted(run);
    const { trials, compared, requested } = recorder.state;
    const done = trials.filter((trial) => trial.role === 'search').length;
    const wish = requested[0];
    if (wish) {
      await runProposal(run, wish, BASELINE + 1 + done, { requested: true });
      continue;
    }
    const hasFinalists = nextFinal(recorder.state, plan.finalRounds) !== null;
    const limit = limitOf(run, { done, hasFinalists });
    const pace = time.paceOf(hasFinalists ? plan.finalRounds : 0);
    const left = { trials: plan.maxTrials - done, seconds: time.searchSecondsLeft, ...(pace && { pace }) };
    const answer = run.sampler().ask({ trials: compared.trials }, left);
    if (answer.kind === 'stop') return limit ?? answer.reason;
    if (limit !== null) return joinReasons(limit, promiseOf(answer) || null);
    const { assignment, expectedGain = null, chance = null, foreseen = [], bottleneck } = answer;
    const why = bottleneck && { bottleneck };
    recorder.notify({ type: 'proposed', assignment, expectedGain, chance, foreseen, ...why });
    await runProposal(run, answer, BASELINE + 1 + done);
  }
}

/** What the sampler holds for luck, where that is not what it was before. */
async function recordDoubted({ recorder, sampler }: Run): Promise<void> {
  const { compared, doubted: before } = recorder.state;
  const readings = sampler().doubted?.({ trials: compared.trials }) ?? [];
  const known = new Set(before.map(keyOf));
  if (readings.length === known.size && readings.every((each) => known.has(keyOf(each)))) return;
  await recorder.record({ type: 'readings-doubted', readings });
}

const keyOf = ({ trial, reading }: Doubted): string => `${trial} ${reading}`;

/** Which limit allows no further trial; null where none does. */
function limitOf(
  { plan, time }: Run,
  { done, hasFinalists }: { readonly done: number; readonly hasFinalists: boolean },
): string | null {
  if (done >= plan.maxTrials) return `the limit of ${plan.maxTrials} trials`;
  return time.allowsTrial({ hasFinalists }) ? null : 'the time budget';
}

/** What going on would bring, where the sampler has a notion. */
const promiseOf = ({ expectedGain, unseen = [] }: Proposal): string =>
  joinReasons(
    expectedGain === undefined ? null : `another trial was expected to gain ${(100 * expectedGain).toFixed(1)} %`,
    unseen.length === 0 ? null : `never measured: ${unseen.join(', ')}`,
  );

/** What a person wishes is tried even if it is known to fail. */
async function runProposal(
  run: Run,
  { assignment, levels, bottleneck }: Wish & Pick<Proposal, 'bottleneck'>,
  number: number,
  { requested }: { readonly requested: boolean } = { requested: false },
): Promise<void> {
  const outcome = run.parts.adapter.build(assignment);
  if (!outcome.legal) {
    const unbuilt = { fingerprint: `illegal-${number}`, assignment, value: {}, shape: plainShape({}) };
    const trial: Assigned = { number, role: 'search', candidate: unbuilt, levels, requested };
    return refuseTrial(run, trial, { kind: 'illegal', reason: outcome.reason });
  }
  const trial: Assigned = { number, role: 'search', candidate: outcome.candidate, levels, requested, bottleneck };
  const { batch } = run.plan.study.levels;
  const largest = largestRequest(outcome.candidate.shape);
  if (batch && batch.low > largest) {
    const reason = `its requests have ${batch.low} samples at least, and it takes ${largest} at most`;
    return refuseTrial(run, trial, { kind: 'illegal', reason });
  }
  const pruned = requested ? null : pruneReason(outcome.candidate, run.recorder.state.trials);
  return pruned ? refuseTrial(run, trial, { kind: 'pruned', reason: pruned }) : runTrial(run, trial);
}

/** Errors: SERVER_FAILED when the last few trials all failed without a verdict on their candidates. */
function checkServer(run: Run): void {
  const last = run.recorder.state.trials.slice(-MAX_SERVER_FAILURES);
  const kinds = ['requests-failed', 'load-timeout'];
  if (last.length < MAX_SERVER_FAILURES || !last.every((trial) => kinds.includes(trial.failure?.kind ?? ''))) return;
  const reason = last.at(-1)?.failure?.reason ?? '';
  throw new TrituneError(
    'SERVER_FAILED',
    `${MAX_SERVER_FAILURES} trials in a row were not served: ${reason}`,
    'look at the log of the server; continue the run with --resume when it works again',
  );
}
