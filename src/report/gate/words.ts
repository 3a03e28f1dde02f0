import { formatFigure, formatRatio } from '../../base/format.ts';
import type { Comparison, GateDecision } from './decide.ts';
import type { GateVerdict } from './verdict.ts';

const names: Readonly<Record<GateVerdict, string>> = {
  regression: 'REGRESSION',
  worse: 'worse, within the tolerance',
  same: 'no difference',
  unsure: 'too unsure to tell, measure longer or again',
  better: 'better',
  missing: 'MISSING',
};

/** Returns the verdict on one figure in words. */
export const verdictName = ({ verdict, isKnownTogether }: Comparison): string =>
  isKnownTogether ? 'too unsure at this level alone, see all levels together' : names[verdict];

/** Changes from this ratio on are shown as a factor. */
const LEAST_FACTOR = 2;
/** Bounds further apart than this are useless. */
const MOST_USABLE = 100;

/** Returns the change and its certainty: `-4.2 % (95.1 % sure …)`. */
export function changeText({ change, verdict }: Comparison): string {
  if (change === null) return 'not measured';
  // A multiple reads badly as per cent.
  const isFactor = change.ratio >= LEAST_FACTOR;
  const text = (ratio: number): string => {
    if (!Number.isFinite(ratio)) return 'no limit';
    return isFactor ? formatRatio(ratio) : `${ratio >= 1 ? '+' : ''}${((ratio - 1) * 100).toFixed(1)} %`;
  };
  const range = `${text(change.low)} to ${text(change.high)}`;
  const isUsable = change.high < MOST_USABLE * change.low;
  if (verdict === 'same' || verdict === 'unsure')
    return `${text(change.ratio)} (${isUsable ? range : 'the readings set no usable bounds'})`;
  const sure = change.sureness >= 0.9995 ? 'over 99.9 %' : `${(change.sureness * 100).toFixed(1)} %`;
  return `${text(change.ratio)} (${range}; ${sure} sure of the direction)`;
}

export const figureText = (value: number | undefined, unit: string): string =>
  value === undefined ? '–' : `${formatFigure(value)} ${unit}`;

/** Returns one line for each figure. */
export function comparisonLine(comparison: Comparison): string {
  const { before, after } = comparison;
  const from = figureText(before.interval.value, before.unit);
  const to = figureText(after?.interval.value, before.unit);
  return `${before.subject}, ${before.metric}: ${from} → ${to}, ${changeText(comparison)}: ${verdictName(comparison)}`;
}

/** Returns the decision in one sentence. */
export function decisionLine(decision: GateDecision): string {
  const { comparisons, faults, isRegression, rule } = decision;
  const bad =
    comparisons.filter(({ verdict }) => verdict === 'regression' || verdict === 'missing').length + faults.length;
  const sure = `${formatFigure(rule.confidence * 100)} % confidence, ${formatFigure(rule.tolerance * 100)} % tolerance`;
  if (isRegression) return `regression: ${bad} of ${comparisons.length + faults.length} checks failed (${sure})`;
  const [all, unsure] = [comparisons.length, comparisons.filter(({ verdict }) => verdict === 'unsure').length];
  const who = unsure < all ? `${unsure} of them ` : all === 1 ? '' : 'all of them ';
  const apart = unsure === 0 ? '' : `, ${who}too unsure to tell`;
  const figures = `${all} figure${all === 1 ? '' : 's'}`;
  return `no regression in ${figures}${apart} (${sure})${sight(decision)}`;
}

/** Returns the smallest loss of throughput that the gate could have found, if it judged all levels together. */
function sight({ comparisons, rule: { tolerance } }: GateDecision): string {
  const half = comparisons.flatMap(({ change, isTogether, before }) =>
    isTogether && change && before.better === 'higher' ? Math.log(change.high / change.ratio) : [],
  );
  if (half.length === 0) return '';
  const share = 1 - (1 - tolerance) * Math.exp(-Math.min(...half));
  return `; ${(share * 100).toFixed(0)} % less throughput at all levels would have been seen`;
}
