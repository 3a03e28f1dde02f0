import { lookUp } from '#base/look-up.ts';
import { toSettingsKey } from '#perfmodel/settings-key.ts';
import { type BatcherPolicy, instancesPerDevice } from '#queueing/batcher-policy.ts';
import type { ContinuousPolicy } from '#queueing/continuous/policy.ts';
import type { Candidate } from '#space/types.ts';
import type { FailureKind, Trial } from '../types.ts';
import { jointLoadChance } from './joint-load-chance.ts';

/**
 * Hypotheses of the memory per place of a batch, as a multiple of the memory of an instance alone.
 */
const PER_PLACE = [0, 1 / 32, 1 / 4, Number.POSITIVE_INFINITY];
/** The factor on the chance for one refused load of another kind. */
const AFTER_A_REFUSAL = 0.4;

const telling: ReadonlySet<FailureKind> = new Set(['out-of-memory', 'init-failed']);

/**
 * Returns the chance, 0 to 1, that the candidate loads, given the loads that succeeded and failed.
 * An instance needs memory (or whatever ran out) for itself and for each place of its batch, in an
 * unknown ratio. For every ratio that is consistent with the loads of its kind, the limit is
 * uniform between the largest need that loaded and the smallest that was refused; the chances are
 * averaged over the ratios. A refused config of another kind with no more instances and no larger
 * batch multiplies the chance by 0.4. Of engines of language models see `engineChance`.
 */
export function loadChance({ shape }: Candidate, trials: readonly Trial[]): number {
  const failed = trials.filter(({ failure }) => failure !== null && telling.has(failure.kind));
  if (failed.length === 0) return 1;
  if (shape.members) return jointLoadChance(shape.members, trials) ?? jointChance(shape, failed);
  if (shape.continuous) return engineChance(shape.continuous, failed, trials);
  const { policy } = shape;
  const key = toSettingsKey(shape);
  const isOwn = ({ candidate }: Trial): boolean => toSettingsKey(candidate.shape) === key;
  const policies = failed.filter(isOwn).map(policyIn);
  const others = failed.filter((trial) => !isOwn(trial)).map(policyIn);
  const fromAfar = others.filter((each) => hasAtLeast(policy, each)).length;
  if (policies.length === 0) return AFTER_A_REFUSAL ** fromAfar;
  const loaded = trials.filter((trial) => trial.measurements.length > 0 && isOwn(trial)).map(policyIn);
  const chances = PER_PLACE.flatMap((perPlace) => chanceAt(perPlace, policy, loaded, policies) ?? []);
  const chance =
    chances.length > 0
      ? chances.reduce((sum, each) => sum + each, 0) / chances.length
      : AFTER_A_REFUSAL ** policies.filter((each) => hasAtLeast(policy, each)).length;
  return chance * AFTER_A_REFUSAL ** fromAfar;
}

/**
 * Each refused load with no more of anything, in any model, lowers the chance as much as one of
 * another kind; settings that the loads share do not count.
 */
function jointChance({ members = {} }: Candidate['shape'], failed: readonly Trial[]): number {
  const below = failed.filter(({ candidate: { shape } }) =>
    Object.entries(shape.members ?? {}).every(([model, part]) => {
      const shape = lookUp(members, model);
      return shape !== undefined && hasAtLeast(shape.policy, part.policy);
    }),
  );
  return AFTER_A_REFUSAL ** below.length;
}

/**
 * Returns the chance that an engine starts: it needs memory for sequences, for the tokens of a step
 * and for the KV cache. 1 if it needs no more of any than an engine that started. Each refused
 * engine with no more of any lowers the chance as much as two of another kind.
 */
function engineChance(policy: ContinuousPolicy, failed: readonly Trial[], trials: readonly Trial[]): number {
  const listPolicies = (among: readonly Trial[]): ContinuousPolicy[] =>
    among.flatMap(({ candidate }) => candidate.shape.continuous ?? []);
  const started = listPolicies(trials.filter(({ measurements }) => measurements.length > 0));
  if (started.some((each) => asksForAsMuch(each, policy))) return 1;
  const below = listPolicies(failed).filter((each) => asksForAsMuch(policy, each));
  return AFTER_A_REFUSAL ** (2 * below.length);
}

/**
 * True if an engine needs at least as much of everything as another; no limit is more than any
 * limit.
 */
function asksForAsMuch(one: ContinuousPolicy, other: ContinuousPolicy): boolean {
  const limit = (tokens: number | null): number => tokens ?? Number.POSITIVE_INFINITY;
  return (
    one.maxSequences >= other.maxSequences &&
    limit(one.maxStepTokens) >= limit(other.maxStepTokens) &&
    limit(one.kvCacheTokens) >= limit(other.kvCacheTokens)
  );
}

const policyIn = ({ candidate }: Trial): BatcherPolicy => candidate.shape.policy;

/**
 * Returns the chance for one ratio; null if the ratio contradicts the loads: a refused config would
 * need no more than one that loaded.
 */
function chanceAt(
  perPlace: number,
  batcherPolicy: BatcherPolicy,
  loaded: readonly BatcherPolicy[],
  refused: readonly BatcherPolicy[],
): number | null {
  const need = (policy: BatcherPolicy): number => {
    const places = Math.max(1, policy.maxBatchSize);
    return instancesPerDevice(policy) * (Number.isFinite(perPlace) ? 1 + perPlace * places : places);
  };
  const most = Math.max(0, ...loaded.map(need));
  const least = Math.min(...refused.map(need));
  if (most >= least) return null;
  return Math.min(1, Math.max(0, (least - need(batcherPolicy)) / (least - most)));
}

const hasAtLeast = (policy: BatcherPolicy, refused: BatcherPolicy): boolean =>
  instancesPerDevice(policy) >= instancesPerDevice(refused) && policy.maxBatchSize >= refused.maxBatchSize;
