import { wrapped } from '../../base/format.ts';
import { type Explanation, explainBest } from '../../study/explain.ts';
import type { StudyState } from '../../study/state.ts';
import { foreign, type Row, span } from '../rows.ts';
import type { ViewState } from '../state.ts';

const MARGIN = 10;

/** Simulations are behind it: once for a study that is over, not for every frame. */
const known = new WeakMap<StudyState, Explanation | null>();

/**
 * Why the best is the best, once the run is over: the whole paragraph where so many rows hold it, else what the limit is
 * now, else nothing.
 */
export function whyRows({ study, activity }: ViewState, width: number, mostRows: number): readonly Row[] {
  if (!study || activity.kind !== 'finished') return [];
  const explanation = explanationOf(study);
  if (!explanation) return [];
  const texts = [explanation.text, explanation.limit.words].map((text) =>
    wrapped(foreign(text, Number.POSITIVE_INFINITY), width - MARGIN),
  );
  const lines = texts.find(({ length }) => length <= mostRows) ?? [];
  return lines.map((line, index) => [span((index === 0 ? 'why' : '').padEnd(MARGIN), 'muted'), span(line)]);
}

function explanationOf(study: StudyState): Explanation | null {
  const before = known.get(study);
  if (before !== undefined) return before;
  const explanation = explainBest(study);
  known.set(study, explanation);
  return explanation;
}
