import { batchOf, placesOf, sameKind } from '../perfmodel/same-kind.ts';
import type { Candidate } from '../space/types.ts';
import { instancesOf } from '../triton/instances.ts';
import type { ModelConfig } from '../triton/model-config.ts';
import { memoryReason } from './memory-foreseen.ts';
import { perHistory } from './samplers/per-history.ts';
import type { FailureKind, Trial } from './types.ts';

/**
 * Why the candidate must fail, in words that name the trials which show it, or null when nothing says so. It rests on
 * two assumptions: of two configs that differ only in instances and batch size, the one with more of either needs more; and each
 * further instance takes as much GPU memory as those before it did.
 */
export function pruneReason(candidate: Candidate, trials: readonly Trial[]): string | null {
  for (const trial of failedIn(trials)) {
    const kind = trial.failure?.kind;
    if (kind && mustFailLike(candidate, trial, kind, trials))
      return `${wordsOf[kind] ?? kind} as in trial ${trial.number}`;
  }
  return memoryReason(candidate, trials);
}

const failedIn = perHistory((trials) => trials.filter(({ failure }) => failure !== null));

const wordsOf: { readonly [kind in FailureKind]?: string } = {
  'invalid-config': 'the server rejects this config',
  'out-of-memory': 'needs at least the memory that ran out',
  'init-failed': 'needs at least the instances that did not start',
  'no-gpu': 'asks for the GPU that is missing',
};

function mustFailLike(candidate: Candidate, failed: Trial, kind: FailureKind, trials: readonly Trial[]): boolean {
  const [asked, refused] = [candidate.config, failed.candidate.config];
  switch (kind) {
    case 'invalid-config':
      return candidate.fingerprint === failed.candidate.fingerprint;
    case 'out-of-memory':
      return sameKind(asked, refused) && atLeast(asked, refused) && batchOf(asked) >= batchOf(refused);
    case 'init-failed':
      return sameKind(asked, refused) && atLeast(asked, refused) && blamesInstances(asked, refused, trials);
    case 'no-gpu':
      return placesOf(asked) === placesOf(refused);
    default:
      return false;
  }
}

/**
 * A failed start is put down to instances when a config with fewer of them, alike otherwise, did load. When that one
 * differed in nothing else, batch size is cleared of blame; else a candidate must have at least the refused batch size.
 */
function blamesInstances(asked: ModelConfig, refused: ModelConfig, trials: readonly Trial[]): boolean {
  const lighter = trials
    .filter((trial) => trial.measurements.length > 0 && instancesOf(trial.candidate.config) < instancesOf(refused))
    .map((trial) => trial.candidate.config)
    .filter((loaded) => sameKind(loaded, refused));
  if (lighter.some((loaded) => batchOf(loaded) === batchOf(refused))) return true;
  return lighter.length > 0 && batchOf(asked) >= batchOf(refused);
}

const atLeast = (asked: ModelConfig, refused: ModelConfig): boolean => instancesOf(asked) >= instancesOf(refused);
