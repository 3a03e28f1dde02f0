import { CELL } from './glyphs.ts';

/** What a terminal showed at one moment: a group's contents for each row. */
export interface Frame {
  readonly rows: readonly string[];
  /** How long the picture shows it. */
  readonly holdMs: number;
}

interface Setting {
  readonly columns: number;
  readonly rows: number;
  /** For whoever cannot see it. */
  readonly title: string;
}

const MARGIN = 14;
const BACKGROUND = '#0d1117';
/** The sixteen colours of a dark terminal. */
const palette = [
  ...['#484f58', '#ff7b72', '#3fb950', '#d29922', '#58a6ff', '#bc8cff', '#39c5cf', '#b1bac4'],
  ...['#6e7681', '#ffa198', '#56d364', '#e3b341', '#79c0ff', '#d2a8ff', '#56d4dd', '#f0f6fc'],
];
const fonts = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace";
const looks = [
  `text{font:14px ${fonts};white-space:pre}`,
  'text,path{fill:#d5dce3}',
  '.b{font-weight:700;fill:#fff}',
  '.d{opacity:.62}.s1{opacity:.3}.s2{opacity:.5}.s3{opacity:.75}',
  ...palette.map((colour, index) => `.c${index}{fill:${colour}}`),
  `text.i{fill:${BACKGROUND}}`,
].join('');

/** The screen at one moment, as an SVG file. */
export function stillPicture(rows: readonly string[], setting: Setting): string {
  const groups = rows.map((row, y) => (row === '' ? '' : `<g transform="translate(0 ${y * CELL.height})">${row}</g>`));
  return picture(groups.join('\n'), looks, setting);
}

/**
 * The screen over time, as an SVG file that repeats itself by CSS. A row that several frames share
 * is there once. A viewer that plays no CSS, or a reader who asked for less motion, gets the last
 * frame.
 */
export function movingPicture(frames: readonly Frame[], setting: Setting): string {
  const names = new Map<string, string>();
  const nameOf = (row: string): string => {
    const name = names.get(row) ?? `r${names.size.toString(36)}`;
    names.set(row, name);
    return name;
  };
  const totalMs = frames.reduce((sum, { holdMs }) => sum + holdMs, 0);
  let fromMs = 0;
  const [groups, rules]: [string[], string[]] = [[], []];
  frames.forEach(({ rows, holdMs }, index) => {
    const uses = rows.map((row, y) => (row === '' ? '' : `<use href="#${nameOf(row)}" y="${y * CELL.height}"/>`));
    groups.push(`<g class="f f${index}">${uses.join('')}</g>`);
    const share = (ms: number): string => `${((100 * ms) / totalMs).toFixed(3)}%`;
    const before = fromMs > 0 ? `0%{visibility:hidden}${share(fromMs)}{visibility:visible}` : '0%{visibility:visible}';
    fromMs += holdMs;
    const after = fromMs < totalMs ? `${share(fromMs)},100%{visibility:hidden}` : '100%{visibility:visible}';
    rules.push(`@keyframes k${index}{${before}${after}}.f${index}{animation-name:k${index}}`);
  });
  const defs = [...names].map(([row, name]) => `<g id="${name}">${row}</g>`).join('\n');
  const motion = `.f{animation:${totalMs / 1e3}s step-end infinite}${rules.join('')}`;
  const style = [
    looks,
    '.f{visibility:hidden}.f:last-of-type{visibility:visible}',
    `@media (prefers-reduced-motion:no-preference){${motion}}`,
  ].join('');
  return picture(`<defs>${defs}</defs>\n<g>${groups.join('\n')}</g>`, style, setting);
}

function picture(content: string, style: string, { columns, rows, title }: Setting): string {
  const [width, height] = [columns * CELL.width + 2 * MARGIN, rows * CELL.height + 2 * MARGIN].map(Math.ceil);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" xml:space="preserve"><title>${title}</title>
<style>${style}</style>
<rect width="100%" height="100%" rx="8" fill="${BACKGROUND}"/>
<g transform="translate(${MARGIN} ${MARGIN})">
${content}
</g></svg>
`;
}
