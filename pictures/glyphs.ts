/** The size of a terminal's cell in the units of the picture. */
export const CELL = { width: 8.4, height: 18 } as const;

const BRAILLE = 0x2800;
/**
 * The columns and rows of the eight dots of a braille pattern, by the bit that sets each (Unicode,
 * Braille Patterns).
 */
const dots: readonly (readonly [column: number, row: number])[] = [
  ...([0, 1, 2].map((row) => [0, row]) as [number, number][]),
  ...([0, 1, 2].map((row) => [1, row]) as [number, number][]),
  [0, 3],
  [1, 3],
];
const DOT_RADIUS = 1.1;

/**
 * Which of its four arms, left, right, up and down, a light line of Unicode's Box Drawing block
 * has.
 */
const arms: Readonly<Record<string, string>> = {
  '─': 'lr',
  '│': 'ud',
  '┌': 'rd',
  '┐': 'ld',
  '└': 'ru',
  '┘': 'lu',
  '├': 'rud',
  '┤': 'lud',
  '┬': 'lrd',
  '┴': 'lru',
  '┼': 'lrud',
  '╴': 'l',
  '╶': 'r',
};
/** Dashed lines, as the parts of the cell's length that are drawn. */
const dashes = [
  [0.05, 0.4],
  [0.55, 0.9],
] as const;

/**
 * The outline of a character that terminals draw themselves, because fonts differ in it: braille
 * dots, blocks and lines. Returns the commands of an SVG path to fill, with the cell's left and top
 * edge at (x, 0); null for a character that a font draws.
 */
export function glyphOutline(character: string, x: number): string | null {
  const code = character.codePointAt(0) ?? 0;
  if (code >= BRAILLE && code < BRAILLE + 256) return brailleOutline(code - BRAILLE, x);
  const block = blockOf(code);
  if (block)
    return rectangle(
      x + block.left * CELL.width,
      block.top * CELL.height,
      block.width * CELL.width,
      block.height * CELL.height,
    );
  if (character === '╌') return dashes.map(([from, to]) => horizontal(x, from, to)).join('');
  if (character === '╎') return dashes.map(([from, to]) => vertical(x, from, to)).join('');
  const lines = arms[character];
  if (lines === undefined) return null;
  const [left, right] = [lines.includes('l') ? 0 : 0.5, lines.includes('r') ? 1 : 0.5];
  const [up, down] = [lines.includes('u') ? 0 : 0.5, lines.includes('d') ? 1 : 0.5];
  return (left < right ? horizontal(x, left, right) : '') + (up < down ? vertical(x, up, down) : '');
}

function brailleOutline(bits: number, x: number): string {
  return dots
    .filter((_, bit) => bits & (1 << bit))
    .map(([column, row]) => {
      const centre = { x: x + ((column + 0.5) / 2) * CELL.width, y: ((row + 0.5) / 4) * CELL.height };
      const r = DOT_RADIUS;
      return `M${short(centre.x - r)} ${short(centre.y)}a${r} ${r} 0 1 1 0 .1z`;
    })
    .join('');
}

/**
 * Unicode's Block Elements that fill a part of their cell from one edge, in shares of the cell;
 * shades fill all of it.
 */
function blockOf(code: number): { left: number; top: number; width: number; height: number } | null {
  const eighths = { lower: code - 0x2580, left: 0x2590 - code };
  if (code === 0x2580) return { left: 0, top: 0, width: 1, height: 0.5 };
  if (code >= 0x2581 && code <= 0x2588)
    return { left: 0, top: 1 - eighths.lower / 8, width: 1, height: eighths.lower / 8 };
  if (code >= 0x2589 && code <= 0x258f) return { left: 0, top: 0, width: eighths.left / 8, height: 1 };
  if (code === 0x2590) return { left: 0.5, top: 0, width: 0.5, height: 1 };
  if (code >= 0x2591 && code <= 0x2593) return { left: 0, top: 0, width: 1, height: 1 };
  return null;
}

const THICKNESS = 1.1;

const horizontal = (x: number, from: number, to: number): string =>
  rectangle(x + from * CELL.width, (CELL.height - THICKNESS) / 2, (to - from) * CELL.width, THICKNESS);

const vertical = (x: number, from: number, to: number): string =>
  rectangle(x + (CELL.width - THICKNESS) / 2, from * CELL.height, THICKNESS, (to - from) * CELL.height);

const rectangle = (x: number, y: number, width: number, height: number): string =>
  `M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}z`;

/** A coordinate with as many digits as a screen can show. */
export const short = (value: number): string => String(Number(value.toFixed(2)));
