import { canonicalJson } from '#base/json.ts';
import type { BatcherPolicy } from '#queueing/batcher-policy.ts';
import type { ContinuousPolicy } from '#queueing/continuous/policy.ts';
import type { Candidate, CandidateShape } from '#space/types.ts';
import { listPlaces, toSettingsKey } from './settings-key.ts';

/** A candidate as the performance model sees it. */
export interface Choice {
  readonly candidate: Candidate;
  readonly policy: BatcherPolicy;
  /** The largest batch that can form; one request's without dynamic batching. */
  readonly largestBatch: number;
  readonly delayUs: number;
  /**
   * Samples in one request, if the study varies them; null if all its requests have the same
   * number.
   */
  readonly clientBatch: number | null;
  /**
   * The categorical settings, which the simulator does not model: as one text (`toSettingsKey`),
   * and by path in the config.
   */
  readonly settingsKey: string;
  readonly settings: ReadonlyMap<string, string>;
  /** Choices with the same key are the same to the performance model. */
  readonly key: string;
  /**
   * The choices of models that are tuned together, by name; absent for a single model. The fields
   * above then cover all of them: the sum of the instances, the largest batch and delay of any, and
   * settings by `MODEL/path`.
   */
  readonly members?: ReadonlyMap<string, Choice>;
  /**
   * The way a language model's engine forms its steps; absent for other schedulers. Its largest
   * batch is the most sequences at once.
   */
  readonly continuous?: ContinuousPolicy;
}

const known = new WeakMap<Candidate, Choice>();

/**
 * Returns a candidate's choice; memoized, because a study's trials are read before every proposal.
 */
export function toChoice(candidate: Candidate): Choice {
  const choice = known.get(candidate) ?? readChoice(candidate);
  known.set(candidate, choice);
  return choice;
}

const byBatch = new WeakMap<Choice, Map<number, Choice>>();

/**
 * Returns the choice for requests of `batch` samples; the choice itself if the study does not vary
 * them. Memoized.
 */
export function atClientBatch(choice: Choice, batch: number | undefined): Choice {
  if (batch === undefined) return choice;
  const choices = byBatch.get(choice) ?? new Map<number, Choice>();
  const foundChoice = choices.get(batch) ?? {
    ...choice,
    clientBatch: batch,
    key: `${choice.key} ${batch}`,
    largestBatch: Math.max(choice.largestBatch, batch),
  };
  byBatch.set(choice, choices.set(batch, foundChoice));
  return foundChoice;
}

/**
 * Returns the largest request that the config takes, in samples: Triton refuses one with more than
 * `max_batch_size`.
 */
export const largestRequest = ({ policy }: Pick<Choice, 'policy'>): number => Math.max(1, policy.maxBatchSize);

function readChoice(candidate: Candidate): Choice {
  return candidate.shape.members ? jointChoice(candidate, candidate.shape.members) : ownChoice(candidate);
}

function jointChoice(candidate: Candidate, shapes: NonNullable<CandidateShape['members']>): Choice {
  const members = new Map(
    Object.entries(shapes).map(([model, shape]) => [model, memberChoice(candidate, model, shape)]),
  );
  const all = [...members.values()];
  const settingsKey = all.map((member) => member.settingsKey).join(' ');
  return {
    candidate,
    policy: candidate.shape.policy,
    largestBatch: Math.max(1, ...all.map(({ largestBatch }) => largestBatch)),
    delayUs: Math.max(0, ...all.map(({ delayUs }) => delayUs)),
    clientBatch: null,
    settingsKey,
    settings: listSettings(settingsKey, candidate.shape),
    // Models on one GPU slow each other, so the GPUs of a model matter to other models.
    key: all.map(({ key, candidate: { shape } }) => `${key} ${listPlaces(shape.groups)}`).join(' '),
    members,
  };
}

/**
 * Returns the choices of the models that are tuned together, in their order; the choice itself for
 * a single model.
 */
export const listParts = (choice: Choice): readonly Choice[] =>
  choice.members ? [...choice.members.values()] : [choice];

const ofShapes = new WeakMap<CandidateShape, Choice>();

/** Returns a member's choice; the same object for candidates that share the member's shape. */
function memberChoice(candidate: Candidate, model: string, shape: CandidateShape): Choice {
  const choice = ofShapes.get(shape) ?? ownChoice(toMember(candidate, model, shape));
  ofShapes.set(shape, choice);
  return choice;
}

/**
 * Returns one model's part of a joint candidate, as its own candidate; its assignment keeps the
 * names of the joint space.
 */
function toMember({ assignment, value, fingerprint }: Candidate, model: string, shape: CandidateShape): Candidate {
  const entries = Object.entries(assignment).filter(([name]) => name.startsWith(`${model}/`));
  return { fingerprint: `${fingerprint} ${model}`, assignment: Object.fromEntries(entries), value, shape };
}

function ownChoice(candidate: Candidate): Choice {
  const { policy, continuous, settings } = candidate.shape;
  if (continuous) return engineChoice(candidate, continuous, canonicalJson(settings));
  const largestBatch = policy.dynamicBatching ? Math.max(1, policy.maxBatchSize) : 1;
  const delayUs = largestBatch > 1 ? policy.maxQueueDelayNs / 1e3 : 0;
  const settingsKey = toSettingsKey(candidate.shape);
  const preferred = largestBatch > 1 ? policy.preferredBatchSizes : [];
  const key = canonicalJson([
    settingsKey,
    policy.instances,
    policy.devices ?? 1,
    largestBatch,
    delayUs,
    [...preferred],
    policy.prefetch ?? true,
  ]);
  return {
    candidate,
    policy,
    largestBatch,
    delayUs,
    clientBatch: null,
    settingsKey,
    settings: listSettings(settingsKey, candidate.shape),
    key,
  };
}

function engineChoice(candidate: Candidate, continuous: ContinuousPolicy, settingsKey: string): Choice {
  const { shape } = candidate;
  return {
    candidate,
    policy: shape.policy,
    largestBatch: continuous.maxSequences,
    delayUs: 0,
    clientBatch: null,
    settingsKey,
    settings: listSettings(settingsKey, shape),
    key: canonicalJson([settingsKey, shape.policy.instances, { ...continuous }]),
    continuous,
  };
}

/**
 * The last settings read, which most consecutive choices share: equal settings are mostly the same
 * object, and compare fast.
 */
let latest: { readonly settingsKey: string; readonly settings: Choice['settings'] } = {
  settingsKey: '',
  settings: new Map(),
};

function listSettings(settingsKey: string, { settings }: CandidateShape): Choice['settings'] {
  if (latest.settingsKey !== settingsKey) latest = { settingsKey, settings: new Map(Object.entries(settings)) };
  return latest.settings;
}
