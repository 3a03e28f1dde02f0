/** Figures for people, in the same form on every screen and in every document. */

const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** Three significant digits below 1000, whole and grouped above: 0.512, 8.25, 52.4, 12,010. */
export function formatFigure(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (Math.abs(value) >= 999.5) return grouped.format(value);
  return Number(value.toPrecision(3)).toString();
}

/** What a throughput counts: inferences, or the requests to a language model or over plain HTTP. */
export type RateUnit = 'infer/s' | 'requests/s';

export const formatRate = (perSecond: number, unit: RateUnit = 'infer/s'): string =>
  `${formatFigure(perSecond)} ${unit}`;
export const formatMs = (ms: number): string => `${formatFigure(ms)} ms`;
/** Returns a ratio to two decimals: 4.30×. */
export const formatRatio = (ratio: number): string => (Number.isFinite(ratio) ? `${ratio.toFixed(2)}×` : '–');

/** Returns seconds as people say them: 850 ms, 12 s, 3 min 20 s, 2 h 5 min. */
export function formatDuration(seconds: number): string {
  if (!Number.isFinite(seconds)) return 'no limit';
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${Number(seconds.toFixed(1))} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return joined(Math.floor(whole / 60), 'min', whole % 60, 's');
  return joined(Math.floor(whole / 3600), 'h', Math.floor((whole % 3600) / 60), 'min');
}

const joined = (large: number, largeUnit: string, small: number, smallUnit: string): string =>
  small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;

/**
 * Characters in foreign text that may harm its reader: control characters move a terminal's cursor,
 * begin its escape sequences and break lines; direction marks make other words appear.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const ACTIVE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
const ACTIVE_RUN = new RegExp(`${ACTIVE.source}+`, 'g');

/** Returns the text with a space instead of every unsafe character: one line of the same length. */
export const inertLine = (text: string): string => text.replace(ACTIVE, ' ');

/** Does the same for text of several lines: line feeds and tabs stay. */
export const inertText = (text: string): string =>
  text.replace(ACTIVE, (character) => (character === '\n' || character === '\t' ? character : ' '));

/** Does the same for JSON, in which such characters have an equivalent escape. */
export const inertJson = (json: string): string =>
  json
    .replace(ACTIVE, (character) =>
      character < ' ' ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
    // A command of a CI log, which occurs only in strings.
    .replace(/##(?=\w*\[)/g, '\\u0023#');

/**
 * Returns foreign text (from a server, a file) made safe for one terminal line: control characters,
 * line breaks and direction marks become spaces, so that it can neither move the cursor nor fake a
 * line of ours.
 */
export function plainLine(text: string, maxLength = 300): string {
  const line = text.replace(ACTIVE_RUN, ' ').trim();
  return line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line;
}

/** How many of a list a message names. */
const MAX_LISTED = 10;
const LONGEST_LISTED = 100;

/**
 * Returns names that a server or a file gave as a list of a message: `a, b … and 499,990 more`.
 * Empty for none.
 */
export function listed(names: readonly string[]): string {
  const first = names.slice(0, MAX_LISTED).map((name) => plainLine(name, LONGEST_LISTED));
  const more = names.length - first.length;
  return more > 0 ? `${first.join(', ')} … and ${grouped.format(more)} more` : first.join(', ');
}

/**
 * Returns the text without commands of a CI log: GitHub's runner obeys `::NAME::` at the beginning
 * of a line, and like Azure's and TeamCity's `##…[` anywhere in it.
 */
export const inertLog = (text: string): string => text.replace(/^(\s*):(?=:)/gm, '$1: ').replace(/##(?=\w*\[)/g, '# #');

/** Returns the text in lines of at most this width, broken between words if possible. */
export function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else for (let at = 0; at === 0 || at < word.length; at += width) lines.push(word.slice(at, at + width));
  }
  return lines;
}

/** Returns the text with a capital first letter, to begin a sentence. */
export const capital = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
