import { type Change, changeBetween } from '../../stats/change.ts';
import type { GateDocument, Reading } from './readings.ts';

export interface GateRule {
  /** Changes for the worse up to this share are borne. */
  readonly tolerance: number;
  /** How sure a change for the worse must be, over all comparisons together. */
  readonly confidence: number;
}

export type GateVerdict = 'regression' | 'worse' | 'same' | 'unsure' | 'better' | 'missing';

/**
 * One figure of both documents. `regression`: surely worse by more than is borne. `worse`, `better`: surely so, but no
 * regression. `same`: not told apart. `unsure`: nor would half as bad again have been. `missing`: the run does not have it.
 */
export interface Comparison {
  readonly before: Reading;
  readonly after: Reading | null;
  readonly change: Change | null;
  readonly verdict: GateVerdict;
}

export interface GateDecision {
  readonly rule: GateRule;
  readonly comparisons: readonly Comparison[];
  /** What is wrong with the run apart from its figures. */
  readonly faults: readonly string[];
  readonly isRegression: boolean;
}

/** Where even a figure that is worse by this factor beyond the tolerance passes, passing says nothing. */
const BLIND = 1.5;

/**
 * Compares a run with a baseline, figure by figure. The chance of any false alarm is held to 1 − confidence by giving each
 * comparison its part of it (Bonferroni).
 */
export function decideGate(baseline: GateDocument, run: GateDocument, rule: GateRule): GateDecision {
  const each = 1 - (1 - rule.confidence) / Math.max(baseline.readings.length, 1);
  const comparisons = baseline.readings.map((before): Comparison => {
    const after = run.readings.find(({ subject, metric }) => subject === before.subject && metric === before.metric);
    if (!after) return { before, after: null, change: null, verdict: 'missing' };
    const change = changeBetween(before.interval, after.interval, each);
    return { before, after, change, verdict: verdictOf(before, change, rule.tolerance) };
  });
  const faults = faultsOf(baseline, run);
  const isRegression =
    faults.length > 0 || comparisons.some(({ verdict }) => verdict === 'regression' || verdict === 'missing');
  return { rule, comparisons, faults, isRegression };
}

function verdictOf({ better }: Reading, { low, high }: Change, tolerance: number): GateVerdict {
  const [isWorse, isMuchWorse, isBetter] =
    better === 'higher' ? [high < 1, high < 1 - tolerance, low > 1] : [low > 1, low > 1 + tolerance, high < 1];
  if (isMuchWorse) return 'regression';
  if (isWorse) return 'worse';
  if (isBetter) return 'better';
  // How far the interval reaches to either side of the ratio is how much worse a run is before it is surely so.
  return Math.sqrt(high / low) < BLIND ? 'same' : 'unsure';
}

function faultsOf(baseline: GateDocument, run: GateDocument): readonly string[] {
  return [
    ...(baseline.kind === run.kind ? [] : [`a ${run.kind} run is compared with a ${baseline.kind} run`]),
    ...(baseline.model === run.model ? [] : [`'${run.model}' is compared with '${baseline.model}'`]),
    ...(baseline.isEmulated === run.isEmulated ? [] : ['figures of an emulator are compared with those of a server']),
    ...(run.flaw !== null && baseline.flaw === null ? [run.flaw] : []),
    ...(baseline.readings.length === 0 ? ['the baseline has no figures'] : []),
  ];
}
