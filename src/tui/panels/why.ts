import { wrapped } from '#base/format.ts';
import { explainBest } from '#study/analysis/explain/explain.ts';
import { representative } from '#study/final/final.ts';
import { recommend } from '#study/recommendation.ts';
import type { StudyState } from '#study/records/state.ts';
import { describeRecommendation, describeRecommendationShort } from '#study/summary/describe.ts';
import type { Explanation } from '#study/summary/explanation-schema.ts';
import type { Interaction } from '../interaction.ts';
import { fitted, LABEL_COLUMNS, label, type Row, span } from '../rows.ts';
import type { ViewState } from '../state.ts';
import { reasonRows } from './reasons.ts';

/** The number of rows that the limit needs in addition to the others. */
const MIN_REASON = 2;

/** A finished study's remarks on its best. */
interface Remarks {
  /** How well it keeps the budget; null if the goal has no curve. */
  readonly level: readonly [long: string, short: string] | null;
  readonly explanation: Explanation | null;
}

/**
 * Caches the results, which need simulations, so that they are computed once per finished study,
 * not for every frame.
 */
const known = new WeakMap<StudyState, Remarks>();

/**
 * Returns how well the best keeps the budget, and why it is the best, once the run is over.
 * Shortens the first if room is scarce, and the second as `reasonRows` says.
 */
export function whyRows({ study, activity }: ViewState, width: number, mostRows: number): readonly Row[] {
  if (!study || activity.kind !== 'finished') return [];
  const { level, explanation } = explainStudy(study);
  const texts = (level ?? []).map((text) => wrapped(text, width - LABEL_COLUMNS));
  const room = [mostRows - MIN_REASON, mostRows];
  const levelRows = textRows('level', texts.find(({ length }, index) => length <= (room[index] ?? 0)) ?? []);
  return [...levelRows, ...reasonRows(explanation?.reasons ?? [], width, mostRows - levelRows.length)];
}

/**
 * Returns how well the best meets the budget in one row, and the key to the reasons, once the run
 * is over.
 */
export function levelRows({ study, activity }: ViewState, { selected }: Interaction, width: number): readonly Row[] {
  if (!study || activity.kind !== 'finished') return [];
  const { level, explanation } = explainStudy(study);
  const isBest = selected === null || selected === study.best?.number;
  return [
    ...(level ? [fitted([label('level'), span(level[1])], width)] : []),
    ...(isBest && explanation ? [[label('why'), span('Enter shows why it is the best', 'muted')]] : []),
  ];
}

const textRows = (name: string, lines: readonly string[]): readonly Row[] =>
  lines.map((line, index) => [label(index === 0 ? name : ''), span(line)]);

function explainStudy(study: StudyState): Remarks {
  const before = known.get(study);
  if (before !== undefined) return before;
  const view = { level: formatLevel(study), explanation: explainBest(study) };
  known.set(study, view);
  return view;
}

function formatLevel(study: StudyState): Remarks['level'] {
  const { best, goal } = study;
  const recommended = best && recommend(study, best);
  const stands = best && representative(study, best)?.measurement;
  if (!recommended || !stands || !goal.budget) return null;
  return [describeRecommendation(recommended, goal.budget, stands.level), describeRecommendationShort(recommended)];
}
