import { formatFigure } from '#base/format.ts';
import { type Row, right, row, type Span, span } from '../rows.ts';

/** Rows of a chart that are not its area: the heading, and the axis with its labels. */
export const ROWS_AROUND_CHART = 3;
const MIN_LABEL = 5;

/**
 * Rounds up to the next of 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8 times a power of ten, so that the
 * axes stay put as points arrive.
 */
export function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((each) => each * power >= value * (1 - 1e-9));
  return (step ?? 10) * power;
}

/**
 * Returns the width of the labels beside a vertical axis up to this value, with the axis itself.
 */
export const axisWidth = (highest: number): number => Math.max(MIN_LABEL, formatFigure(highest).length) + 2;

/** Returns the drawn rows with the vertical axis: its highest value at the top, 0 at the bottom. */
export function withVerticalAxis(rows: readonly Row[], highest: number): readonly Row[] {
  const width = axisWidth(highest);
  return rows.map((line, index) => {
    const text = index === 0 ? formatFigure(highest) : index === rows.length - 1 ? '0' : '';
    return [span(`${right(text, width - 2)} │`, 'muted'), ...line];
  });
}

/** A value that the horizontal axis marks besides its ends. */
export interface AxisMark {
  /** From 0 at the left end to 1 at the right one. */
  readonly share: number;
  readonly text: string;
}

/** Returns the horizontal axis and its labels. The mark replaces those too close to it. */
export function horizontalAxis(
  highest: number,
  { before, columns }: { readonly before: number; readonly columns: number },
  mark: AxisMark | null,
): readonly Row[] {
  const ends: readonly AxisMark[] = [
    { share: 0, text: '0' },
    { share: 0.5, text: formatFigure(highest / 2) },
    { share: 1, text: formatFigure(highest) },
  ];
  const placed = (mark: AxisMark): { readonly at: number; readonly text: string } => {
    const at = Math.round(mark.share * (columns - 1)) - Math.floor(mark.text.length / 2);
    return { at: Math.max(0, Math.min(columns - mark.text.length, at)), text: mark.text };
  };
  const place = mark && placed(mark);
  const isFree = ({ at, text }: { readonly at: number; readonly text: string }): boolean =>
    place === null || at + text.length < place.at || at > place.at + place.text.length;
  const labels = ends.map(placed).filter(isFree);
  const spans: Span[] = [];
  let end = 0;
  const all = [...labels.map((each) => ({ ...each, isMark: false })), ...(place ? [{ ...place, isMark: true }] : [])];
  for (const { at, text, isMark } of all.sort((a, b) => a.at - b.at)) {
    spans.push(span(' '.repeat(Math.max(0, at - end))), span(text, isMark ? 'warning' : 'muted'));
    end = at + text.length;
  }
  return [row(`${' '.repeat(before - 1)}└${'─'.repeat(columns)}`, 'muted'), [span(' '.repeat(before)), ...spans]];
}
