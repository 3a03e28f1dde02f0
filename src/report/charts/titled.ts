import { wrapped } from '#base/format.ts';
import { escapeHtml } from '../html.ts';
import type { Paper } from './svg.ts';

const SIZE = 16;
const LINE = 22;
const MARGIN = 16;
/** Between the title and the drawing. */
const GAP = 8;
/** Pixels of a bold letter on average, in the widest of the usual fonts. */
const LETTER = 10;

/**
 * Returns a drawing with its title above it, for a file that stands alone: a page has the title as
 * its own text.
 */
export function titled(svg: string, title: string, { ink, background }: Paper): string {
  const [, width = 0, height = 0] = (/^<svg width="(\d+)" height="(\d+)"/.exec(svg) ?? []).map(Number);
  const lines = wrapped(title, Math.floor((width - 2 * MARGIN) / LETTER));
  const top = MARGIN + LINE * lines.length + GAP;
  const style = `font-family="sans-serif" font-size="${SIZE}" font-weight="bold" fill="${ink}"`;
  const texts = lines.map(
    (line, index) => `<text x="${MARGIN}" y="${MARGIN + SIZE + LINE * index}" ${style}>${escapeHtml(line)}</text>`,
  );
  const size = `width="${width}" height="${height + top}"`;
  return [
    `<svg ${size} viewBox="0 0 ${width} ${height + top}" xmlns="http://www.w3.org/2000/svg" role="img">`,
    `<title>${escapeHtml(title)}</title>`,
    ...(background === null ? [] : [`<rect ${size} fill="${background}"></rect>`]),
    ...texts,
    svg.replace('<svg ', `<svg y="${top}" `),
    '</svg>',
  ].join('\n');
}
