import { type Change, changesOf, LEAST_TOGETHER, MOST_DRIFT, type Tails } from '../../stats/change.ts';
import { type Figure, figuresByMetric, intervalsOf, meanReading } from './figures.ts';
import type { GateDocument, Reading } from './readings.ts';
import { type GateVerdict, verdictOf } from './verdict.ts';

export interface GateRule {
  /** A change for the worse up to this share is no regression. */
  readonly tolerance: number;
  /** The required confidence in a change for the worse, over all comparisons together. */
  readonly confidence: number;
  /** True if the runs may be of another model than the baselines, such as the same network in another format. */
  readonly allowsOtherModel?: boolean;
}

/** One figure before and after. */
export interface Comparison {
  readonly before: Reading;
  readonly after: Reading | null;
  readonly change: Change | null;
  readonly verdict: GateVerdict;
  /** True for all levels as one figure, by their geometric mean. */
  readonly isTogether?: true;
  /** True if it is unsure by itself, but all levels together are not. */
  readonly isKnownTogether?: true;
}

export interface GateDecision {
  readonly rule: GateRule;
  readonly comparisons: readonly Comparison[];
  /** Faults of the run other than its figures. */
  readonly faults: readonly string[];
  /** Remarks about the comparison that do not make it fail. */
  readonly notes: readonly string[];
  readonly isRegression: boolean;
}

/**
 * Compares runs with baselines, figure by figure, and all levels together if there are enough. Several documents on a side repeat the same
 * measurement; all are of one kind. The chance of any false alarm stays within 1 − confidence: each comparison gets a part of it (Bonferroni), and
 * all levels together get half of it. Only a change for the worse can be a false alarm, so only that side counts.
 */
export function decideGate(
  baselines: readonly GateDocument[],
  runs: readonly GateDocument[],
  rule: GateRule,
): GateDecision {
  const metrics = figuresByMetric(baselines, runs);
  const sets = metrics.filter(({ length }) => length >= LEAST_TOGETHER).length;
  const chance = (1 - rule.confidence) / (sets > 0 ? 2 : 1);
  const tails = { each: chance / Math.max(metrics.flat().length, 1), together: chance / Math.max(sets, 1) };
  const comparisons = metrics.flatMap((figures) => compare(figures, tails, rule.tolerance));
  const [inOneSide, across] = otherModels(baselines, runs);
  const notes = rule.allowsOtherModel ? across : [];
  const unasked = across.filter((each) => !notes.includes(each)).map((each) => `${each} (${WHERE_MEANT})`);
  const faults = [...inOneSide, ...unasked, ...faultsOf(baselines, runs)];
  const isRegression =
    faults.length > 0 || comparisons.some(({ verdict }) => verdict === 'regression' || verdict === 'missing');
  return { rule, comparisons, faults, notes, isRegression };
}

/** Compares figures of one metric: all levels together, if possible, and each of them. */
function compare(figures: readonly Figure[], tails: Tails, tolerance: number): readonly Comparison[] {
  const whole = figures.filter(({ isWhole }) => isWhole);
  const changes = changesOf(
    whole.map(({ before, after }) => ({ before: intervalsOf(before), after: intervalsOf(after) })),
    tails,
    // A rate follows the speed of the machine. Near saturation, a latency rises by far more than the machine slows down.
    figures.every(({ before }) => before[0]?.better === 'higher') ? MOST_DRIFT : undefined,
  );
  const judged = (before: Reading, after: Reading, change: Change): Comparison => ({
    before,
    after,
    change,
    verdict: verdictOf(before, change, tolerance),
  });
  const each = figures.map((figure): Comparison => {
    const [before, change] = [meanReading(figure.before), changes.each[whole.indexOf(figure)]];
    return change
      ? judged(before, meanReading(figure.after), change)
      : { before, after: null, change: null, verdict: 'missing' };
  });
  if (changes.together === null) return each;
  const all = (readings: readonly Reading[]): Reading => ({
    ...meanReading(readings),
    subject: `all ${whole.length} levels together`,
  });
  const [before, after] = [whole.flatMap((figure) => figure.before), whole.flatMap((figure) => figure.after)];
  const together = judged(all(before), all(after), changes.together);
  const isKnown = together.verdict !== 'unsure';
  return [
    { ...together, isTogether: true },
    ...each.map((one): Comparison => (isKnown && one.verdict === 'unsure' ? { ...one, isKnownTogether: true } : one)),
  ];
}

const WHERE_MEANT = '--allow-other-model where that is meant';

/** Returns models whose names differ from the first of their own side, which is always a mistake, or from the baselines. */
function otherModels(
  baselines: readonly GateDocument[],
  runs: readonly GateDocument[],
): readonly [inOneSide: readonly string[], across: readonly string[]] {
  const names = (documents: readonly GateDocument[]): readonly string[] => [
    ...new Set(documents.map(({ model }) => model)),
  ];
  const [[before, ...others], [after, ...more]] = [names(baselines), names(runs)];
  const inOneSide = [...others.map((name) => [name, before]), ...more.map((name) => [name, after])].map(
    ([name, first]) => `'${name}' is taken for a repeated measurement of '${first}'`,
  );
  const isOther = before !== undefined && after !== undefined && before !== after;
  return [inOneSide, isOther ? [`'${after}' is compared with '${before}'`] : []];
}

function faultsOf(baselines: readonly GateDocument[], runs: readonly GateDocument[]): readonly string[] {
  const [baseline] = baselines;
  if (!baseline) return ['there is no baseline'];
  const flaw = baselines.some((one) => one.flaw !== null) ? null : runs.find((run) => run.flaw !== null)?.flaw;
  const others = [...baselines.slice(1), ...runs];
  const different = others.flatMap((other) =>
    baseline.isEmulated === other.isEmulated ? [] : ['figures of an emulator are compared with those of a server'],
  );
  return [
    ...new Set(different),
    ...(flaw ? [flaw] : []),
    ...(baselines.every(({ readings }) => readings.length === 0) ? ['the baseline has no figures'] : []),
  ];
}
