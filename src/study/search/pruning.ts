import { placesOf, settingsKeyOf } from '../../perfmodel/settings-key.ts';
import type { Candidate, CandidateShape } from '../../space/types.ts';
import type { FailureKind, Trial } from '../types.ts';
import { refusedLike } from './blamed-settings.ts';
import { memoryReason } from './predicted-memory.ts';
import { perHistory } from './samplers/per-history.ts';

/**
 * Returns why the candidate must fail, naming the trials that show it; null when nothing does. It assumes that of two configs that differ
 * only in instances and batch size, the one with more of either needs more, and that each further instance takes as much GPU memory as
 * those before it; and that a refused load with settings which no config that loaded has is due to these (`blamed-settings.ts`).
 */
export function pruneReason(candidate: Candidate, trials: readonly Trial[]): string | null {
  for (const trial of failedIn(trials)) {
    const kind = trial.failure?.kind;
    if (kind && mustFailLike(candidate, trial, kind, trials))
      return `${wordsOf[kind] ?? kind} as in trial ${trial.number}`;
  }
  const alike = refusedLike(candidate.shape, trials);
  return alike === null
    ? memoryReason(candidate, trials)
    : `has the settings that the server refused in trial ${alike}`;
}

const failedIn = perHistory((trials) => trials.filter(({ failure }) => failure !== null));

const wordsOf: { readonly [kind in FailureKind]?: string } = {
  'invalid-config': 'the server rejects this config',
  'out-of-memory': 'needs at least the memory that ran out',
  'init-failed': 'needs at least the instances that did not start',
  'no-gpu': 'asks for the GPU that is missing',
  'build-failed': 'is served from what could not be built',
  'upload-refused': 'is served from files that the server does not take',
  inaccurate: 'has the outputs that are too far off',
};

function mustFailLike(candidate: Candidate, failed: Trial, kind: FailureKind, trials: readonly Trial[]): boolean {
  const [asked, refused] = [candidate.shape, failed.candidate.shape];
  switch (kind) {
    case 'invalid-config':
      return candidate.fingerprint === failed.candidate.fingerprint;
    case 'out-of-memory':
      return sameSettings(asked, refused) && atLeast(asked, refused) && batchOf(asked) >= batchOf(refused);
    case 'init-failed':
      return sameSettings(asked, refused) && atLeast(asked, refused) && blamesInstances(asked, refused, trials);
    case 'no-gpu':
      return placesOf(asked.groups) === placesOf(refused.groups);
    case 'build-failed':
    case 'upload-refused':
      return samePreparation(asked, refused) ?? candidate.fingerprint === failed.candidate.fingerprint;
    case 'inaccurate':
      return samePreparation(asked, refused) ?? sameSettings(asked, refused);
    default:
      return false;
  }
}

/**
 * Tells whether a failed start is due to the number of instances: a config with fewer, alike otherwise, did load. Where that one has
 * another batch size, the batch size may be the cause too, so the candidate must have at least the refused one.
 */
function blamesInstances(asked: CandidateShape, refused: CandidateShape, trials: readonly Trial[]): boolean {
  const lighter = trials
    .filter((trial) => trial.measurements.length > 0 && !atLeast(trial.candidate.shape, refused))
    .map((trial) => trial.candidate.shape)
    .filter((loaded) => sameSettings(loaded, refused));
  if (lighter.some((loaded) => batchOf(loaded) === batchOf(refused))) return true;
  return lighter.length > 0 && batchOf(asked) >= batchOf(refused);
}

const atLeast = (asked: CandidateShape, refused: CandidateShape): boolean =>
  asked.policy.instances >= refused.policy.instances;

const batchOf = ({ policy }: CandidateShape): number => policy.maxBatchSize;

/** Whether both are made of the same; null where the refused one needed nothing made. */
function samePreparation(a: CandidateShape, refused: CandidateShape): boolean | null {
  return refused.preparation ? a.preparation?.key === refused.preparation.key : null;
}

const sameSettings = (a: CandidateShape, b: CandidateShape): boolean => settingsKeyOf(a) === settingsKeyOf(b);
