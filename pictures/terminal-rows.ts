import type { IBuffer, IBufferCell } from '@xterm/headless';
import { CELL, glyphOutline, short } from './glyphs.ts';

/** The first character that a font may draw wider than a letter: arrows, marks and shapes. */
const FIRST_SHAPE = 0x2190;
const asWideAsLetters = '≤≥';

/** Cells side by side that look alike. */
interface Run {
  readonly from: number;
  readonly look: string;
  readonly isInverse: boolean;
  /** Drawn here, not by a font. */
  readonly isOutline: boolean;
  text: string;
}

/** What a terminal shows, as the contents of an SVG group for each row; '' for an empty row. */
export function drawnRows(buffer: IBuffer, size: { readonly columns: number; readonly rows: number }): string[] {
  const spare = buffer.getNullCell();
  return Array.from({ length: size.rows }, (_, y) => {
    const line = buffer.getLine(buffer.viewportY + y);
    const cells = Array.from({ length: size.columns }, (_, x) => {
      const cell = line?.getCell(x, spare);
      return cell ? { text: cell.getChars() || ' ', look: lookOf(cell), isInverse: cell.isInverse() !== 0 } : null;
    });
    return runsOf(cells).map(drawnRun).join('');
  });
}

/** The classes of the three shades of a block. */
const shades: Readonly<Record<string, string>> = { '░': 's1', '▒': 's2', '▓': 's3' };

/**
 * The classes of a cell: b for bold, d for dim, c and the number of its colour, s and the number of
 * its shade.
 */
function lookOf(cell: IBufferCell): string {
  const [isBold, isDim, shade] = [cell.isBold() !== 0, cell.isDim() !== 0, shades[cell.getChars()]];
  const colour = cell.isFgPalette() ? `c${cell.getFgColor()}` : null;
  return [isBold && 'b', isDim && 'd', colour, shade].filter((name) => typeof name === 'string').join(' ');
}

type Drawn = Omit<Run, 'from' | 'isOutline'> | null;

/** Characters that stand alone, because a font may draw them wider, and outlines break a run. */
function runsOf(cells: readonly Drawn[]): Run[] {
  const runs: Run[] = [];
  let isOpen = false;
  cells.forEach((cell, from) => {
    if (!cell) return;
    const last = runs.at(-1);
    const isAlone = standsAlone(cell.text);
    const isOutline = glyphOutline(cell.text, 0) !== null;
    const fits =
      last && last.from + last.text.length === from && last.look === cell.look && last.isInverse === cell.isInverse;
    if (fits && isOpen && !isAlone && isOutline === last.isOutline) last.text += cell.text;
    else runs.push({ from, ...cell, isOutline });
    isOpen = !isAlone;
  });
  return runs;
}

const standsAlone = (text: string): boolean =>
  (text.codePointAt(0) ?? 0) >= FIRST_SHAPE && !asWideAsLetters.includes(text) && glyphOutline(text, 0) === null;

function drawnRun({ from, look, isInverse, isOutline, text }: Run): string {
  const x = from * CELL.width;
  const classes = look === '' ? '' : ` class="${look}"`;
  const width = short(text.length * CELL.width);
  const back = isInverse ? `<path${classes} d="M${short(x)} 0h${width}v${CELL.height}H${short(x)}z"/>` : '';
  if (isOutline) {
    const outline = [...text].map((character, index) => glyphOutline(character, x + index * CELL.width) ?? '');
    return `${back}<path${classes} d="${outline.join('')}"/>`;
  }
  const letters = text.trimEnd();
  const start = letters.length - letters.trimStart().length;
  if (letters === '') return back;
  return back + drawnText(letters.trimStart(), from + start, isInverse ? [look, 'i'].join(' ').trim() : look);
}

function drawnText(letters: string, column: number, look: string): string {
  const classes = look === '' ? '' : ` class="${look}"`;
  // Keeps the columns in line whatever font the reader's machine has.
  const length = letters.length > 1 ? ` textLength="${short(letters.length * CELL.width)}"` : '';
  const text = letters.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<text x="${short(column * CELL.width)}" y="13.5"${length}${classes}>${text}</text>`;
}
