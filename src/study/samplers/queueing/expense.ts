import { mean } from 'simple-statistics';
import type { Choice } from '../../../perfmodel/modelled-config.ts';
import type { Candidate } from '../../../space/types.ts';
import { besideInstances } from '../../../triton/config-comparison.ts';
import type { Trial } from '../../types.ts';

/** Until a trial has shown it. */
const USUAL = { reloadSeconds: 2, inPlaceSeconds: 0.3, measureSeconds: 3 };
/** Warm-up, and what comes between the windows, beside the time that counts. */
const BESIDE_WINDOWS = 1.3;

/** What trials cost on this server, in seconds, as far as they have shown. */
export interface Expense {
  /** To put the choice on the server that serves this candidate. */
  change(choice: Choice, served: Candidate | null): number;
  readonly measureSeconds: number;
}

export function expenseOf(trials: readonly Pick<Trial, 'applied' | 'measurements'>[]): Expense {
  const loads = (change: string): number[] =>
    trials.flatMap(({ applied }) => (applied?.change === change ? [applied.loadMs / 1e3] : []));
  const durations = trials.flatMap(({ measurements }) => measurements.map(({ durationMs }) => durationMs / 1e3));
  const usual = (values: readonly number[], otherwise: number): number =>
    values.length > 0 ? Math.max(0.05, mean([...values])) : otherwise;
  const reloadSeconds = usual(loads('full'), USUAL.reloadSeconds);
  const inPlaceSeconds = Math.min(reloadSeconds, usual(loads('in-place'), USUAL.inPlaceSeconds));
  const finite = durations.filter((seconds) => Number.isFinite(seconds) && seconds > 0);
  return {
    measureSeconds: BESIDE_WINDOWS * usual(finite, USUAL.measureSeconds / BESIDE_WINDOWS),
    change({ candidate }, served) {
      if (served?.fingerprint === candidate.fingerprint) return 0;
      return served && sameButInstances(served, candidate) ? inPlaceSeconds : reloadSeconds;
    },
  };
}

/** Triton changes the number of instances in place. */
function sameButInstances(a: Candidate, b: Candidate): boolean {
  return restOf(a) === restOf(b);
}

const known = new WeakMap<Candidate, string>();

function restOf(candidate: Candidate): string {
  let rest = known.get(candidate);
  if (rest === undefined) {
    rest = besideInstances(candidate.config);
    known.set(candidate, rest);
  }
  return rest;
}
