import { lookUp } from '#base/look-up.ts';
import { listPlaces, toSettingsKey } from '#perfmodel/settings-key.ts';
import { instancesPerDevice } from '#queueing/batcher-policy.ts';
import type { Candidate, CandidateShape } from '#space/types.ts';
import type { FailureKind, Trial } from '../types.ts';
import { refusedLike } from './blamed-settings.ts';
import { memoryReason } from './predicted-memory.ts';
import { perHistory } from './samplers/per-history.ts';

/**
 * Returns why the candidate must fail, naming the trials that show it; null when nothing does. It
 * assumes that of two configs that differ only in instances and batch size, of every model, the one
 * with more of either needs more, and that each further instance takes as much GPU memory as those
 * before it; and that a refused load with settings which no config that loaded has is due to these
 * (`blamed-settings.ts`).
 */
export function pruneReason(candidate: Candidate, trials: readonly Trial[]): string | null {
  for (const trial of failedIn(trials)) {
    const kind = trial.failure?.kind;
    if (kind && mustFailLike(candidate, trial, kind, trials))
      return `${KIND_WORDS[kind] ?? kind} as in trial ${trial.number}`;
  }
  const alike = refusedLike(candidate.shape, trials);
  return alike === null
    ? memoryReason(candidate, trials)
    : `has the settings that the server refused in trial ${alike}`;
}

const failedIn = perHistory((trials) => trials.filter(({ failure }) => failure !== null));

const KIND_WORDS: { readonly [kind in FailureKind]?: string } = {
  'invalid-config': 'the server rejects this config',
  'out-of-memory': 'needs at least the memory that ran out',
  'init-failed': 'needs at least the instances that did not start',
  'no-gpu': 'asks for the GPU that is missing',
  'build-failed': 'is served from what could not be built',
  'upload-refused': 'is served from files that the server does not take',
  inaccurate: 'has the outputs that are too far off',
};

function mustFailLike(candidate: Candidate, failed: Trial, kind: FailureKind, trials: readonly Trial[]): boolean {
  const [shape, refused] = [candidate.shape, failed.candidate.shape];
  switch (kind) {
    case 'invalid-config':
      return (
        candidate.fingerprint === failed.candidate.fingerprint ||
        hasSuspect(
          shape,
          refused,
          trials,
          (candidateShape, suspect) =>
            candidateShape.batching === suspect.batching && needsAsMuch(candidateShape, suspect),
        )
      );
    case 'out-of-memory':
      return sameSettings(shape, refused) && everyPart(shape, refused, needsAsMuch);
    case 'init-failed':
      return (
        (sameSettings(shape, refused) &&
          everyPart(shape, refused, atLeast) &&
          blamesInstances(shape, refused, trials)) ||
        hasSuspect(
          shape,
          refused,
          trials,
          (candidateShape, suspect) => sameSettings(candidateShape, suspect) && needsAsMuch(candidateShape, suspect),
        )
      );
    case 'no-gpu':
      return listPlaces(shape.groups) === listPlaces(refused.groups) || namesAll(shape, refused);
    case 'build-failed':
    case 'upload-refused':
      return samePreparation(shape, refused) ?? candidate.fingerprint === failed.candidate.fingerprint;
    case 'inaccurate':
      return samePreparation(shape, refused) ?? sameSettings(shape, refused);
    default:
      return false;
  }
}

/** True if the candidate names every GPU of the refused one, one of which is missing. */
function namesAll(shape: CandidateShape, refused: CandidateShape): boolean {
  const gpusIn = ({ groups }: CandidateShape): readonly number[] => groups.flatMap(({ gpus }) => gpus ?? []);
  const [ownGpus, missing] = [new Set(gpusIn(shape)), gpusIn(refused)];
  return missing.length > 0 && missing.every((gpu) => ownGpus.has(gpu));
}

/**
 * True if a failed start is due to the number of instances: an otherwise equal config with fewer
 * did load. If that config has another batch size, the batch size may be the cause too, so the
 * candidate's must be at least the refused one's.
 */
function blamesInstances(shape: CandidateShape, refused: CandidateShape, trials: readonly Trial[]): boolean {
  const lighter = trials
    .filter((trial) => trial.measurements.length > 0 && !everyPart(trial.candidate.shape, refused, atLeast))
    .map((trial) => trial.candidate.shape)
    .filter((loaded) => sameSettings(loaded, refused));
  const sameBatch: IsLike = (a, b) => readBatch(a) === readBatch(b);
  if (lighter.some((loaded) => everyPart(loaded, refused, sameBatch))) return true;
  return lighter.length > 0 && everyPart(shape, refused, (a, b) => readBatch(a) >= readBatch(b));
}

type IsLike = (shape: CandidateShape, refused: CandidateShape) => boolean;

/** True if the relation holds for each model; for a single model, for that one. */
function everyPart(shape: CandidateShape, refused: CandidateShape, isLike: IsLike): boolean {
  if (!shape.members || !refused.members) return isLike(shape, refused);
  const { members } = shape;
  return Object.entries(refused.members).every(([model, part]) => {
    const candidateShape = lookUp(members, model);
    return candidateShape !== undefined && isLike(candidateShape, part);
  });
}

/**
 * True if the candidate has the model that caused a refusal, in a config like the refused one. The
 * cause is known only if a single model was never served with its config or one that needs as much.
 * False for a single model, and if several models may be the cause.
 */
function hasSuspect(shape: CandidateShape, refused: CandidateShape, trials: readonly Trial[], isLike: IsLike): boolean {
  if (!shape.members || !refused.members) return false;
  const served = trials.filter(({ measurements }) => measurements.length > 0).map(({ candidate }) => candidate.shape);
  const suspects = Object.entries(refused.members).filter(
    ([model, part]) =>
      !served.some(({ members }) => {
        const candidateShape = lookUp(members, model);
        return candidateShape !== undefined && sameSettings(candidateShape, part) && needsAsMuch(candidateShape, part);
      }),
  );
  const [suspect, ...others] = suspects;
  if (!suspect || others.length > 0) return false;
  const [model, part] = suspect;
  const ownShape = lookUp(shape.members, model);
  return ownShape !== undefined && isLike(ownShape, part);
}

const needsAsMuch: IsLike = (shape, refused) => atLeast(shape, refused) && readBatch(shape) >= readBatch(refused);

const atLeast = (shape: CandidateShape, refused: CandidateShape): boolean =>
  instancesPerDevice(shape.policy) >= instancesPerDevice(refused.policy);

const readBatch = ({ policy }: CandidateShape): number => policy.maxBatchSize;

/** True if both are built from the same files; null if the refused one needed no build. */
function samePreparation(a: CandidateShape, refused: CandidateShape): boolean | null {
  return refused.preparation ? a.preparation?.key === refused.preparation.key : null;
}

const sameSettings = (a: CandidateShape, b: CandidateShape): boolean =>
  a.members && b.members ? everyPart(a, b, sameSettings) : toSettingsKey(a) === toSettingsKey(b);
