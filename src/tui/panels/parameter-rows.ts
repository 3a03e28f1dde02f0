import { wrapped } from '#base/format.ts';
import { formatPath } from '#space/edits/config-path.ts';
import type { ChangeCost, Parameter, ParameterValue } from '#space/types.ts';
import { describeValue } from '#study/summary/describe.ts';
import { fitted, foreign, left, measureWidth, type Row, row, type Size, type Span, span, type Tone } from '../rows.ts';

/** One value in a row of values. */
export interface ValueCell {
  /** A one-character sign of its state. */
  readonly mark: ' ' | '=' | '×';
  readonly text: string;
  readonly tone?: Tone;
}

/** null keeps the original config's value. */
export const valueText = (value: ParameterValue): string => (value === null ? 'original' : describeValue(value));

const WIDEST_NAME = 24;
const WIDEST_VALUE = 20;

/**
 * Returns a parameter's name and its values on one line, with the one at `at` in brackets. If there
 * are too many values, shows those around it.
 */
export function valuesRow(
  name: string,
  cells: readonly ValueCell[],
  { at, isSelected, columns }: { readonly at: number | null; readonly isSelected: boolean; readonly columns: number },
): Row {
  const head: Row = [
    span(isSelected ? '› ' : '  ', 'accent'),
    span(`${left(foreign(name), WIDEST_NAME)} `, isSelected ? 'strong' : undefined),
  ];
  const texts = cells.map(({ mark, text, tone }, index): Span => {
    const [open, close] = index === at ? ['[', ']'] : [' ', ' '];
    return span(`${open}${mark}${foreign(text, WIDEST_VALUE)}${close}`, index === at && isSelected ? 'strong' : tone);
  });
  return fitted([...head, ...around(texts, at ?? 0, columns - measureWidth(head))], columns);
}

/** Returns as many whole pieces as fit around the index; `…` marks a side with more. */
function around(pieces: readonly Span[], index: number, width: number): Row {
  let [first, end] = [0, pieces.length];
  const room = (from: number, to: number): number => width - (from > 0 ? 1 : 0) - (to < pieces.length ? 1 : 0);
  while (first < index && measureWidth(pieces.slice(first, index + 1)) > room(first, index + 1)) first++;
  while (end > index + 1 && measureWidth(pieces.slice(first, end)) > room(first, end)) end--;
  const more = span('…', 'muted');
  return [...(first > 0 ? [more] : []), ...pieces.slice(first, end), ...(end < pieces.length ? [more] : [])];
}

const costs: Readonly<Record<ChangeCost, string>> = {
  'in-place': 'changes without a reload',
  reload: 'a change reloads the model',
  expensive: 'a change needs a long load',
};

/** Returns a sentence on as many rows as it needs in a tall panel, else on one. */
export function sentenceRows(text: string, { columns, rows }: Size, tone?: Tone): readonly Row[] {
  const lines = rows < TALL ? [text] : wrapped(text, columns - 2);
  return lines.map((line) => row(`  ${line}`, tone));
}

/** From this height on, parameters and sentences both fit. */
const TALL = 14;

/** Returns what the parameter sets, and the cost of changing it. */
export function parameterNote({ path, change, description }: Parameter, size: Size): readonly Row[] {
  const field = path === null ? 'several fields' : formatPath(path);
  const about = description === '' ? '' : `: ${description.trim()}`;
  return sentenceRows(foreign(`${field} (${costs[change]})${about}`), size, 'muted');
}
