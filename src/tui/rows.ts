import { plainLine } from '#base/format.ts';
import type { Command } from './commands.ts';

/** The meaning of a piece of text; `colours.ts` defines its look. */
export type Tone =
  | 'strong'
  | 'muted'
  | 'good'
  | 'bad'
  | 'warning'
  | 'accent'
  | 'front'
  | 'now'
  | 'selected'
  | 'client'
  | 'network'
  | 'queue'
  | 'input'
  | 'infer'
  | 'output';

export interface Span {
  readonly text: string;
  readonly tone?: Tone;
  /** What a click on it does. */
  readonly click?: Command;
}

/**
 * One line of the screen. Every character is one cell wide; foreign text must go through `foreign`.
 */
export type Row = readonly Span[];

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

export const span = (text: string, tone?: Tone): Span => (tone === undefined ? { text } : { text, tone });
export const row = (text: string, tone?: Tone): Row => [span(text, tone)];

/** Characters beyond these may be two cells wide, or none; all of our own glyphs are within. */
const NARROW = /[^\u0020-\u2e7f]|\p{M}/gu;

/**
 * Returns text from a server or a file, fit for the screen: one line, and one cell for every
 * character.
 */
export const foreign = (text: string, maxLength = 300): string => plainLine(text, maxLength).replace(NARROW, '?');

export const measureWidth = (line: Row): number => line.reduce((sum, { text }) => sum + text.length, 0);

/** Returns the row at exactly this width: cut with an ellipsis, or padded. */
export function fitted(line: Row, width: number): Row {
  const full = measureWidth(line);
  if (full <= width) return full === width ? line : [...line, span(' '.repeat(width - full))];
  const kept: Span[] = [];
  let left = width - 1;
  for (const piece of line) {
    if (left <= 0) break;
    kept.push({ ...piece, text: piece.text.slice(0, left) });
    left -= piece.text.length;
  }
  return width <= 0 ? [] : [...kept, span('…', kept.at(-1)?.tone)];
}

/** Returns exactly this many rows of this width; drops what does not fit. */
export function block(rows: readonly Row[], { columns, rows: height }: Size): readonly Row[] {
  return Array.from({ length: height }, (_, index) => fitted(rows[index] ?? [], columns));
}

/** Returns as many rows as fit, with the one at `index` near their middle. */
export function inSight<T>(rows: readonly T[], index: number, room: number): readonly T[] {
  const start = Math.max(0, Math.min(rows.length - room, index - Math.floor(room / 2)));
  return rows.slice(start, start + Math.max(0, room));
}

/** Returns two blocks side by side with a gap; both have the same number of rows. */
export function beside(left: readonly Row[], right: readonly Row[], gap = 2): readonly Row[] {
  return left.map((line, index) => [...line, span(' '.repeat(gap)), ...(right[index] ?? [])]);
}

/** Returns `left` and, at the far end, `right`. Drops `right` if both do not fit. */
export function spread(left: Row, right: Row, width: number): Row {
  const room = width - measureWidth(right) - 1;
  return room < measureWidth(left) ? fitted(left, width) : [...fitted(left, room + 1), ...right];
}

/** A heading with a line after it. */
export function heading(text: string, width: number, note = ''): Row {
  const end = note === '' ? '' : ` ${note} ─`;
  const rule = Math.max(0, width - text.length - 3 - end.length);
  return fitted([span('─ ', 'muted'), span(text, 'accent'), span(` ${'─'.repeat(rule)}${end}`, 'muted')], width);
}

/** The columns of the name before a row of the overview, with a gap after the longest. */
export const LABEL_COLUMNS = 11;

/** Returns the name before a row of the overview; '' for a row that continues the one above. */
export const label = (name: string): Span => span(name.padEnd(LABEL_COLUMNS), 'muted');

/**
 * Right-aligns the text in a column of this width. Never cuts it: a figure without its last digits
 * would be another figure.
 */
export const right = (text: string, width: number): string => text.padStart(width);
export const left = (text: string, width: number): string =>
  text.length > width ? `${text.slice(0, Math.max(0, width - 1))}…` : text.padEnd(width);
