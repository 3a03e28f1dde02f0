import { type ChangeFactor, MAX_DRIFT, MIN_TOGETHER, type Tails, toChanges } from '#stats/change.ts';
import { type Figure, figuresByMetric, listIntervals, meanReading } from './figures.ts';
import type { GateDocument, MetricReading } from './readings.ts';
import { type ComparedTimes, compareTimes } from './times.ts';
import {
  type GateTolerances,
  type GateVerdict,
  isSuspect,
  type MetricVerdict,
  timesAsLong,
  toVerdict,
} from './verdict.ts';

export interface GateRule extends GateTolerances {
  /** The required confidence in a change for the worse, over all comparisons together. */
  readonly confidence: number;
  /**
   * True if the runs may be of another model than the baselines, such as the same network in
   * another format.
   */
  readonly allowsOtherModel?: boolean;
}

/** One metric before and after. */
export interface Comparison {
  readonly before: MetricReading;
  readonly after: MetricReading | null;
  readonly change: ChangeFactor | null;
  readonly verdict: MetricVerdict;
  /** True for all levels as one metric, by their geometric mean. */
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
  /** Where the time of each level went before and after; not judged. */
  readonly times: readonly ComparedTimes[];
  readonly verdict: GateVerdict;
  /** True if the verdict is `regression`. */
  readonly isRegression: boolean;
  /**
   * The factor by which measurements must be longer for a verdict; only if it is `inconclusive`,
   * and null where no length gives one.
   */
  readonly timesAsLong?: number | null;
}

/**
 * Compares runs with baselines, metric by metric, and all levels together if there are enough.
 * Several documents on a side repeat the same measurement; all are of one kind. The chance of any
 * false alarm stays within 1 − confidence: each comparison gets a part of it (Bonferroni), and all
 * levels together get half of it. Only a change for the worse can be a false alarm, so only that
 * side counts.
 *
 * One precise metric is enough to pass: whatever slows a model down shows in its throughput, while
 * a percentile at a single level is rarely known to 10 %. But a metric that is likely to be much
 * worse, without the required confidence, makes the comparison inconclusive.
 */
export function decideGate(
  baselines: readonly GateDocument[],
  runs: readonly GateDocument[],
  rule: GateRule,
): GateDecision {
  const metrics = figuresByMetric(baselines, runs);
  const sets = metrics.filter(({ length }) => length >= MIN_TOGETHER).length;
  const chance = (1 - rule.confidence) / (sets > 0 ? 2 : 1);
  const tails = { each: chance / Math.max(metrics.flat().length, 1), together: chance / Math.max(sets, 1) };
  const byMetric = metrics.map((figures) => compare(figures, tails, rule));
  const comparisons = byMetric.flat();
  const [inOneSide, across] = otherModels(baselines, runs);
  const meant = rule.allowsOtherModel ? across : [];
  const certificates = runs.flatMap(({ certificate }) =>
    certificate === null ? [] : [`certificate of the run: ${certificate}`],
  );
  const notes = [...meant, ...otherMachines(baselines, runs), ...listAssumptions(baselines, runs), ...certificates];
  const unasked = across.filter((each) => !meant.includes(each)).map((each) => `${each} (${WHERE_MEANT})`);
  const faults = [...inOneSide, ...unasked, ...listFaults(baselines, runs)];
  const isRegression =
    faults.length > 0 || comparisons.some(({ verdict }) => verdict === 'regression' || verdict === 'missing');
  const judged = byMetric.map(decisive);
  const verdict = isRegression ? 'regression' : isUndecided(judged, rule) ? 'inconclusive' : 'passed';
  const times = compareTimes(baselines, runs);
  const decision = { rule, comparisons, faults, notes, times, verdict, isRegression } as const;
  return verdict === 'inconclusive' ? { ...decision, timesAsLong: timeForVerdict(judged, rule) } : decision;
}

/**
 * Returns the comparisons that speak for their metric: of all levels together, or of each level
 * where there are too few.
 */
export function decisive(comparisons: readonly Comparison[]): readonly Comparison[] {
  const together = new Set(comparisons.filter(({ isTogether }) => isTogether).map(({ before }) => before.metric));
  return comparisons.filter(({ isTogether, before }) => isTogether || !together.has(before.metric));
}

const isUnsure = ({ verdict }: Comparison): boolean => verdict === 'unsure';

/**
 * Returns the comparisons that are likely to be a large regression, which is neither certain nor
 * ruled out.
 */
export const listSuspects = (comparisons: readonly Comparison[], limits: GateTolerances): readonly Comparison[] =>
  comparisons.filter((one) => isUnsure(one) && one.change && isSuspect(one.before, one.change, limits));

/**
 * Returns whether nothing that could show a regression is precise, or something looks much worse.
 */
function isUndecided(byMetric: readonly (readonly Comparison[])[], rule: GateRule): boolean {
  if (listSuspects(byMetric.flat(), rule).length > 0) return true;
  return !byMetric.some((all) => all.every((one) => !isUnsure(one) && !one.before.followsLoad));
}

/**
 * Returns the shortest time that decides one metric, and all metrics that look much worse; null if
 * no length does.
 */
function timeForVerdict(byMetric: readonly (readonly Comparison[])[], rule: GateRule): number | null {
  const timeFor = (comparisons: readonly Comparison[]): number =>
    Math.max(
      1,
      ...comparisons
        .filter(isUnsure)
        .map(({ before, change }) => (change ? timesAsLong(before, change, rule) : Number.POSITIVE_INFINITY)),
    );
  const telling = byMetric.filter((all) => !all.some(({ before }) => before.followsLoad));
  const forOne = Math.min(...telling.map(timeFor));
  const factor = Math.max(forOne, timeFor(listSuspects(byMetric.flat(), rule)));
  return Number.isFinite(factor) ? factor : null;
}

/** Compares figures of one metric: all levels together, if possible, and each of them. */
function compare(figures: readonly Figure[], tails: Tails, limits: GateTolerances): readonly Comparison[] {
  const whole = figures.filter(({ isWhole }) => isWhole);
  const changes = toChanges(
    whole.map(({ before, after }) => ({ before: listIntervals(before), after: listIntervals(after) })),
    tails,
    // A rate follows the speed of the machine. Near saturation, a latency rises by far more than
    // the machine slows down.
    figures.every(({ before }) => before[0]?.better === 'higher') ? MAX_DRIFT : undefined,
  );
  const judged = (before: MetricReading, after: MetricReading, change: ChangeFactor): Comparison => ({
    before,
    after,
    change,
    verdict: toVerdict(before, change, limits),
  });
  const each = figures.map((figure): Comparison => {
    const [before, change] = [meanReading(figure.before), changes.each[whole.indexOf(figure)]];
    return change
      ? judged(before, meanReading(figure.after), change)
      : { before, after: null, change: null, verdict: 'missing' };
  });
  if (changes.together === null) return each;
  const all = (readings: readonly MetricReading[]): MetricReading => ({
    ...meanReading(readings),
    subject: `all ${whole.length} levels together (geometric mean)`,
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

/**
 * Returns models whose names differ from the first of their own side, which is always a mistake, or
 * from the baselines.
 */
function otherModels(
  baselines: readonly GateDocument[],
  runs: readonly GateDocument[],
): readonly [inOneSide: readonly string[], across: readonly string[]] {
  const names = (documents: readonly GateDocument[]): readonly string[] => [
    ...new Set(documents.map(({ model }) => model)),
  ];
  const [[before, ...others], [after, ...more]] = [names(baselines), names(runs)];
  const inOneSide = [...others.map((name) => [name, before]), ...more.map((name) => [name, after])].map(
    ([name, first]) => `'${name}' cannot repeat a measurement of '${first}'`,
  );
  const isOther = before !== undefined && after !== undefined && before !== after;
  return [inOneSide, isOther ? [`'${after}' is compared with '${before}'`] : []];
}

/** Says that figures of other machines are compared, as far as documents name them. */
function otherMachines(baselines: readonly GateDocument[], runs: readonly GateDocument[]): readonly string[] {
  const [before, after] = [baselines, runs].map((all) => [...new Set(all.flatMap(({ machine }) => machine ?? []))]);
  if (!before?.length || !after?.length || [...before].sort().join() === [...after].sort().join()) return [];
  return [`measured on other machines: the baseline on ${before.join(' and ')}; the run on ${after.join(' and ')}`];
}

/** Returns what was made up for the requests of either side. */
function listAssumptions(baselines: readonly GateDocument[], runs: readonly GateDocument[]): readonly string[] {
  const [before, after] = [baselines, runs].map((all) => new Set(all.flatMap(({ assumptions }) => assumptions))) as [
    Set<string>,
    Set<string>,
  ];
  return [...new Set([...before, ...after])].map((line) => {
    const side = !after.has(line) ? 'in the baseline only' : !before.has(line) ? 'in the run only' : 'on both sides';
    return `assumed ${side}: ${line}`;
  });
}

function listFaults(baselines: readonly GateDocument[], runs: readonly GateDocument[]): readonly string[] {
  const [baseline] = baselines;
  if (!baseline) return ['there is no baseline'];
  const flaw = baselines.some((one) => one.flaw !== null) ? null : runs.find((run) => run.flaw !== null)?.flaw;
  const others = [...baselines.slice(1), ...runs];
  const different = others.flatMap((other) =>
    baseline.isEmulated === other.isEmulated ? [] : ['metrics of an emulator are compared with those of a server'],
  );
  return [
    ...new Set(different),
    ...(flaw ? [flaw] : []),
    ...(baselines.every(({ kind, readings }) => kind !== 'table' && readings.length === 0)
      ? ['the baseline has no metrics']
      : []),
  ];
}
