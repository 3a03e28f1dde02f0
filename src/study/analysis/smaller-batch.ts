import { lookUp } from '#base/look-up.ts';
import { findLaw } from '#perfmodel/laws.ts';
import { createPredictor } from '#perfmodel/predictor.ts';
import type { Candidate, CandidateShape } from '#space/types.ts';
import { representative } from '../final/final.ts';
import type { StudyState } from '../records/state.ts';
import { trialsToFit } from '../search/queueing/training-subset.ts';
import { reportDraw } from '../summary/prediction.ts';
import type { SmallerBatch } from '../summary/summary-schema.ts';
import type { Goal } from '../types.ts';

/** The least ratio that is worth telling. */
const MIN_RATIO = 1.1;
/** Of values that promise about as much, the largest takes least from clients. */
const ABOUT_AS_MUCH = 0.97;
/** Load levels at which it is predicted, relative to the best's own. */
const LEVELS = [0.25, 0.5, 1, 2];

/**
 * Returns the largest of the values of `max_batch_size` that the search left out for clients and
 * that would give 10 % more or better; null if none is known to. Only for one objective,
 * throughput, in closed loops of one kind of request.
 */
export function smallerBatch(state: StudyState): SmallerBatch | null {
  const { started, best, compared, goal } = state;
  const left = (started.clients ?? []).flatMap(({ model, leftOut }) => leftOut.map((size) => ({ model, size })));
  const stands = best && representative(state, best)?.measurement;
  if (left.length === 0 || !best || !stands || !isPredictable(state)) return null;
  const law = findLaw(started.topology, best.candidate.shape);
  if (!law.models(best.candidate.shape)) return null;
  const smaller = left.map(({ model, size }) => ({ model, size, candidate: withBatch(best.candidate, model, size) }));
  const { percentile } = stands.budgetLatencyMs;
  const all = [best.candidate, ...smaller.map(({ candidate }) => candidate)];
  const predictor = createPredictor(
    law,
    trialsToFit(compared.trials, goal),
    reportDraw(percentile, law.requests.many),
    all,
  );
  if (!predictor) return null;
  const { low, high } = started.levels;
  const levels = [...new Set(LEVELS.map((times) => Math.round(times * stands.level.value)))].filter(
    (level) => level >= low && level <= high,
  );
  const served = (candidate: Candidate): number =>
    Math.max(
      0,
      ...levels.map((value) => {
        const predicted = predictor.predict(candidate, { ...stands.level, value });
        if (!predicted || predicted.extrapolates.includes('variant')) return 0;
        return keeps(goal, predicted.budgetLatency.value) ? predicted.throughput.value : 0;
      }),
    );
  const now = served(best.candidate);
  if (now === 0) return null;
  const predictions = smaller.map(({ model, size, candidate }) => ({
    model,
    maxBatchSize: size,
    ratio: served(candidate) / now,
  }));
  const most = Math.max(...predictions.map(({ ratio }) => ratio));
  const good = predictions.filter(({ ratio }) => ratio >= MIN_RATIO && ratio >= ABOUT_AS_MUCH * most);
  return good.sort((a, b) => b.maxBatchSize - a.maxBatchSize)[0] ?? null;
}

function isPredictable({ started, goal }: StudyState): boolean {
  const [objective, ...others] = goal.objectives;
  const isOneFront = (started.topology?.fronts.length ?? 1) === 1;
  const isPlain = started.levels.mode === 'concurrency' && !started.levels.batch && !started.workloads;
  return isOneFront && isPlain && objective?.metric === 'throughput' && others.length === 0;
}

const keeps = ({ budget }: Goal, latencyMs: number): boolean => budget === null || latencyMs <= budget.latencyMs;

/**
 * Returns the candidate as the performance model sees it with another largest batch of one model.
 */
function withBatch({ shape, ...candidate }: Candidate, model: string, size: number): Candidate {
  const { members } = shape;
  const member = lookUp(members, model);
  const changed: CandidateShape = member
    ? { ...shape, members: { ...members, [model]: shapeWith(member, size) } }
    : shapeWith(shape, size);
  return { ...candidate, fingerprint: `${candidate.fingerprint} ${model} ${size}`, shape: changed };
}

function shapeWith({ policy, ...shape }: CandidateShape, maxBatchSize: number): CandidateShape {
  const preferredBatchSizes = policy.preferredBatchSizes.filter((size) => size <= maxBatchSize);
  return { ...shape, policy: { ...policy, maxBatchSize, preferredBatchSizes } };
}
