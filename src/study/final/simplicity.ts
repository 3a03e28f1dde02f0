import { listDifferences } from '#space/differences.ts';
import type { Candidate } from '#space/types.ts';
import { findChosen } from '../goal/ranking.ts';
import type { Trial } from '../types.ts';

/**
 * Candidates whose objective differs by less, as a difference of logarithms, may be equally good:
 * nobody notices 3 %.
 */
export const MAX_TIE = 0.03;

/**
 * Compares two trials for advice among equals: the one with fewer changes to the original config
 * comes first, then the one that takes less: instances, batches, GPU memory.
 */
export function compareSimplicity(a: Trial, b: Trial, original: Candidate): number {
  const [one, other] = [listCosts(a, original), listCosts(b, original)];
  const at = one.findIndex((cost, index) => cost !== other[index]);
  return at < 0 ? 0 : (one[at] as number) - (other[at] as number);
}

/** Candidates never change, and a final asks for the same ones after each measurement. */
const changes = new WeakMap<Candidate, WeakMap<Candidate, number>>();

function listCosts(trial: Trial, original: Candidate): readonly number[] {
  const { policy } = trial.candidate.shape;
  const memory = findChosen(trial)?.device.gpuMemoryMiB ?? 0;
  return [countChanges(trial.candidate, original), policy.instances, policy.maxBatchSize, memory];
}

function countChanges(candidate: Candidate, original: Candidate): number {
  const known = changes.get(original) ?? new WeakMap<Candidate, number>();
  changes.set(original, known);
  const count = known.get(candidate) ?? listDifferences(original, candidate).length;
  known.set(candidate, count);
  return count;
}
