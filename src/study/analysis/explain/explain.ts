import { findLaw } from '#perfmodel/laws.ts';
import { atClientBatch, toChoice } from '#perfmodel/modelled-config.ts';
import { measuredChoices, type StageBottleneck } from '#perfmodel/service-model.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { representative } from '../../final/final.ts';
import { decidingWorkload } from '../../goal/deciding-workload.ts';
import type { StudyState } from '../../records/state.ts';
import { describeBottleneck } from '../../summary/describe.ts';
import type { Explanation } from '../../summary/explanation-schema.ts';
import { isOriginal } from '../../summary/verdict.ts';
import type { Trial } from '../../types.ts';
import { listChangedSettings } from './changed-parameters.ts';
import { computeCredit } from './credit.ts';
import { findLimit } from './limit.ts';
import { limitPhrase, limitSentence, listAdvice } from './limit-texts.ts';
import type { LimitingFactor } from './limit-words.ts';
import { type LimitSummary, listReasons } from './reasons.ts';
import { createTimeBar } from './time-bar.ts';
import { splitTime } from './time-split.ts';
import { adviceSentence, creditSentences, type SplitMeasurement, splitSentences } from './words.ts';

const SEED = 1;
/** Requests per simulation. More than a search takes, because this is a single simulation. */
const REQUESTS = 1200;

/** Returns the bottleneck of a trial at a measured level; null without statistics of the models. */
type BottleneckOf = (trial: Trial, measurement: Measurement) => StageBottleneck | null;

const none: BottleneckOf = () => null;

/**
 * Returns what holds a trial's models back and the effect of one more instance, by laws fitted once
 * to all measurements. Always null for a single model.
 */
function createBottlenecks({ started, trials, goal }: StudyState): BottleneckOf {
  if (!started.topology) return none;
  const measured = trials.flatMap(({ candidate, measurements }) => measuredChoices(candidate, measurements));
  const model = findLaw(started.topology, undefined).fit(measured, {
    mode: started.levels.mode,
    percentile: goal.budget?.percentile ?? 99,
    seed: SEED,
    requests: REQUESTS,
    all: [],
  });
  return ({ candidate }, { level }) =>
    candidate.shape.members
      ? (model.bottleneck?.(atClientBatch(toChoice(candidate), level.batch), level.value) ?? null)
      : null;
}

/**
 * Explains the best. Pure: the same state gives the same explanation. null when nothing was
 * measured.
 */
export function explainBest(state: StudyState): Explanation | null {
  const { best, baseline, goal } = state;
  const stands = best && representative(state, best)?.measurement;
  if (!best || !stands) return null;
  const workload = workloadToTell(state, best, stands);
  const after = explainTrial(state, best, workload);
  if (!after) return null;
  const isOther = baseline && !isOriginal(best.candidate, baseline.candidate);
  const before = isOther ? explainTrial(state, baseline, workload) : null;
  const credit = computeCredit(state, best, stands);
  const bottlenecks = createBottlenecks(state);
  const evidence = limitingFactor(state, best, after, bottlenecks(best, stands));
  const limit = { ...evidence.limit, words: limitSentence(evidence) };
  const stage = evidence.bottleneck;
  const bottleneck = stage && { ...stage, words: describeBottleneck(stage) };
  const advice = listAdvice(evidence);
  const reasons = listReasons({
    best,
    credit,
    bottleneck: stage,
    advice,
    changed: listChangedSettings(state.started, best.candidate),
    before:
      before &&
      baseline &&
      limitSummary(limitingFactor(state, baseline, before, bottlenecks(baseline, before.measurement))),
    now: limitSummary(evidence),
  });
  const sentences = [
    ...standing(state, best),
    ...(workload === null ? [] : [`These are the figures under the workload ${workload}.`]),
    ...splitSentences(before, after),
    ...(credit ? creditSentences(credit, stands, goal) : []),
    limit.words,
    ...(bottleneck && limit.stage === undefined ? [`${bottleneck.words}.`] : []),
    ...adviceSentence(advice),
  ];
  return {
    trial: best.number,
    before: before?.split ?? null,
    after: after.split,
    credit,
    limit,
    ...(bottleneck && { bottleneck }),
    advice,
    reasons,
    sentences,
    text: sentences.join(' '),
  };
}

const limitingFactor = (
  state: StudyState,
  trial: Trial,
  { measurement, split }: SplitMeasurement,
  bottleneck: StageBottleneck | null,
): LimitingFactor => ({
  state,
  trial,
  measurement,
  split,
  bottleneck,
  limit: findLimit(state, trial, measurement, { split, bottleneck }),
});

const limitSummary = (limitingFactor: LimitingFactor): LimitSummary => ({
  words: limitPhrase(limitingFactor),
  bar: createTimeBar(limitingFactor, limitingFactor.state, limitingFactor.trial),
});

/**
 * Returns the workload whose figures are reported: the deciding one, or the first for a mean; null
 * in a study without workloads.
 */
const workloadToTell = ({ goal, started }: StudyState, best: Trial, measurement: Measurement): string | null =>
  (decidingWorkload(measurement, best.candidate, goal, started.workloads) ?? measurement.workloads?.[0])?.workload ??
  null;

/** `workload`: the one under which it was measured; null for figures of the whole study. */
function explainTrial(state: StudyState, trial: Trial, workload: string | null): SplitMeasurement | null {
  const whole = representative(state, trial)?.measurement;
  const measurement = whole?.workloads?.find((each) => each.workload === workload) ?? whole;
  const split = measurement && splitTime(measurement, trial.candidate.shape);
  return split ? { split, measurement } : null;
}

/**
 * Returns the opening sentences: the best is the original, misses the goal, or has nothing to
 * compare with.
 */
function standing(state: StudyState, best: Trial): readonly string[] {
  const { baseline, gain } = state;
  const isFeasible = representative(state, best)?.feasible ?? false;
  const missed = isFeasible ? [] : ['Nothing met the goal; this is about the nearest to it.'];
  const { rejected } = gain ?? {};
  if (baseline?.number === best.number) {
    const but = rejected ? `trial ${rejected.trial} seemed better, but ${rejected.reason}` : 'nothing better was found';
    return [...missed, `The original config stays: ${but}.`];
  }
  const instead = rejected
    ? [`Trial ${rejected.trial} seemed better, but ${rejected.reason}, which ended before this one was measured again.`]
    : [];
  const isComparable = baseline !== null && explainTrial(state, baseline, null) !== null;
  return [
    ...missed,
    ...instead,
    ...(isComparable ? [] : ['The original config was not measured, so there is no before.']),
  ];
}
