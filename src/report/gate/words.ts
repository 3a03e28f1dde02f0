import { formatFigure, formatRatio } from '#base/format.ts';
import { type Comparison, decisive, type GateDecision, listSuspects } from './decide.ts';
import { largeChange, type MetricVerdict, smallestSeen } from './verdict.ts';

const names: Readonly<Record<MetricVerdict, string>> = {
  regression: 'REGRESSION',
  worse: 'passed, slightly worse',
  same: 'passed',
  unsure: 'inconclusive',
  better: 'better',
  missing: 'MISSING',
};

/** Returns the verdict on one metric in words. */
export const verdictName = ({ verdict, isKnownTogether }: Comparison): string =>
  isKnownTogether ? 'inconclusive at this level alone, see all levels together' : names[verdict];

/** Changes from this ratio on are shown as a factor. */
const MIN_FACTOR = 2;
/** Bounds further apart than this are useless. */
const MAX_USABLE = 100;

/**
 * Returns the change, its interval, and the probability of its direction:
 * `-4.2 % (-6.0 % to -2.4 %; 95.1 % likely lower)`.
 */
export function changeText({ change, verdict }: Comparison): string {
  if (change === null) return 'not measured';
  // A multiple reads badly as per cent.
  const isFactor = change.ratio >= MIN_FACTOR;
  const text = (ratio: number): string => {
    if (!Number.isFinite(ratio)) return 'no limit';
    return isFactor ? formatRatio(ratio) : `${ratio >= 1 ? '+' : ''}${((ratio - 1) * 100).toFixed(1)} %`;
  };
  const range = `${text(change.low)} to ${text(change.high)}`;
  const isUsable = change.high < MAX_USABLE * change.low;
  if (verdict === 'same' || verdict === 'unsure')
    return `${text(change.ratio)} (${isUsable ? range : 'the measurements set no usable bounds'})`;
  const likely = change.sureness >= 0.9995 ? 'over 99.9 %' : `${(change.sureness * 100).toFixed(1)} %`;
  return `${text(change.ratio)} (${range}; ${likely} likely ${change.ratio < 1 ? 'lower' : 'higher'})`;
}

export const figureText = (value: number | undefined, unit: string): string =>
  value === undefined ? '–' : `${formatFigure(value)} ${unit}`;

/** Returns one line for each metric. */
export function comparisonLine(comparison: Comparison): string {
  const { before, after } = comparison;
  const from = figureText(before.interval.value, before.unit);
  const to = figureText(after?.interval.value, before.unit);
  return `${formatName(comparison)}: ${from} → ${to}, ${changeText(comparison)}: ${verdictName(comparison)}`;
}

export const formatName = ({ before }: Comparison): string => `${before.subject}, ${before.metric}`;

const percentText = (share: number): string => `${formatFigure(share * 100)} %`;

const metricCount = (count: number): string => `${count} metric${count === 1 ? '' : 's'}`;

/** Returns the decision in one sentence. */
export function decisionLine(decision: GateDecision): string {
  const { comparisons, faults, verdict, rule } = decision;
  const by = `${percentText(rule.confidence)} confidence, ${percentText(rule.tolerance)} tolerance`;
  if (verdict === 'inconclusive') return `inconclusive: ${whyInconclusive(decision)} (${by})${sight(decision)}`;
  const all = comparisons.length;
  if (verdict === 'regression') {
    const bad = comparisons.filter((one) => one.verdict === 'regression' || one.verdict === 'missing').length;
    return `regression: ${bad + faults.length} of ${all + faults.length} checks failed (${by})`;
  }
  const unsure = comparisons.filter((one) => one.verdict === 'unsure').length;
  const which = unsure === 0 ? metricCount(all) : `${all - unsure} of ${all} metrics, ${unsure} inconclusive`;
  return `passed: no regression in ${which} (${by})${sight(decision)}`;
}

function whyInconclusive({ comparisons, rule }: GateDecision): string {
  const [suspect] = listSuspects(decisive(comparisons), rule).toSorted((a, b) => computeSize(b) - computeSize(a));
  if (suspect) return `${formatName(suspect)} looks like a regression, but is not precise enough to tell`;
  const unsure = comparisons.filter(({ verdict }) => verdict === 'unsure').length;
  const all = comparisons.length;
  if (all === 0) return 'these tables state no intervals';
  const goal = `precise enough to rule out a regression of ${percentText(largeChange(rule))}`;
  if (unsure < all) return `${unsure} of ${all} metrics ${unsure === 1 ? 'is' : 'are'} not ${goal}`;
  return all === 1 ? `the metric is not ${goal}` : `none of ${all} metrics is ${goal}`;
}

const computeSize = ({ change }: Comparison): number => Math.abs(Math.log(change?.ratio ?? 1));

/**
 * Returns the smallest regression that the gate could have found: of all levels together where it
 * judged them so.
 */
function sight({ comparisons, rule }: GateDecision): string {
  const open = decisive(comparisons).filter(({ verdict, before }) => verdict !== 'better' && !before.followsLoad);
  const seen = open.flatMap(({ before, change }) => {
    const share = change ? smallestSeen(before, change, rule.tolerance) : Number.NaN;
    return Number.isFinite(share) ? [{ metric: before.metric, share }] : [];
  });
  const [best] = seen.toSorted((a, b) => a.share - b.share);
  if (!best || best.share >= 1) return '';
  return `; it would have seen a regression of ${(best.share * 100).toFixed(0)} % in ${best.metric}`;
}

/** Measurements this many times as long are not worth it. */
const MAX_TIMES = 30;

/** Returns what to do for a verdict; null if there is one. */
export function adviceLine({ verdict, timesAsLong, rule, comparisons }: GateDecision): string | null {
  if (verdict !== 'inconclusive') return null;
  if (comparisons.length === 0) return 'for a verdict, compare files of tritune profile --json';
  const goal = `for a verdict on ${percentText(largeChange(rule))}`;
  if (timesAsLong == null || timesAsLong > MAX_TIMES)
    return `${goal}, measure on a quieter machine, at more levels, or accept less (--must-see)`;
  const times = Math.max(2, Math.ceil(timesAsLong));
  return `${goal}, measure about ${times} times as long (a smaller --precision), or compare ${times} times as many runs and baselines (RUN RUN2 … --baseline BASELINE2 …)`;
}

/**
 * Returns the advice on which metrics are not precise enough, for one annotation; null if all are.
 */
export function unsureLine({ comparisons, rule }: GateDecision): string | null {
  const unsure = comparisons.filter(({ verdict }) => verdict === 'unsure');
  if (unsure.length === 0) return null;
  return `not precise enough to rule out a regression of ${percentText(largeChange(rule))}: ${unsure.map(formatName).join('; ')}`;
}
