import headless from '@xterm/headless';
import { expect, it } from 'vitest';
import { drawnRows } from '../../pictures/terminal-rows.ts';
import { movingPicture } from '../../pictures/terminal-svg.ts';

const size = { columns: 20, rows: 2 };

async function rowsOf(text: string): Promise<string[]> {
  const terminal = new headless.Terminal({ cols: size.columns, rows: size.rows, allowProposedApi: true });
  await new Promise<void>((drawn) => terminal.write(text, drawn));
  return drawnRows(terminal.buffer.active, size);
}

it('draws words with their look, in one piece for each look, and nothing for an empty row', async () => {
  expect(await rowsOf('a \u001b[1;32mb < c\u001b[0m   d')).toEqual([
    '<text x="0" y="13.5">a</text><text x="16.8" y="13.5" textLength="42" class="b c2">b &lt; c</text><text x="84" y="13.5">d</text>',
    '',
  ]);
});

it('draws lines, blocks and dots itself, and marks that a font may draw wider alone', async () => {
  const [row] = await rowsOf('\u001b[2m── † final\u001b[0m ★a█⣀');
  expect(row).toMatch(/^<path class="d" d="M0 8[^"]*M8.4 8[^"]*"\/><text [^>]*class="d">† final<\/text>/);
  expect(row).toMatch(
    /<text x="92.4" y="13.5">★<\/text><text x="100.8" y="13.5">a<\/text><path d="M109.2 0h8.4v18h-8.4zM/,
  );
});

it('draws inverse cells on their colour', async () => {
  expect((await rowsOf('\u001b[7;31mx'))[0]).toBe(
    '<path class="c1" d="M0 0h8.4v18H0z"/><text x="0" y="13.5" class="c1 i">x</text>',
  );
});

it('plays frames one after the other, and keeps a row that several have once', () => {
  const frames = [
    { rows: ['<a/>', '<b/>'], holdMs: 1000 },
    { rows: ['<a/>', '<c/>'], holdMs: 3000 },
  ];
  const picture = movingPicture(frames, { ...size, title: 'a film' });
  expect(picture.match(/<a\/>/g)).toHaveLength(1);
  expect(picture.match(/<use href="#r0" y="0"\/>/g)).toHaveLength(2);
  expect(picture).toContain('.f{animation:4s step-end infinite}');
  expect(picture).toContain('@keyframes k0{0%{visibility:visible}25.000%,100%{visibility:hidden}}');
  expect(picture).toContain('@keyframes k1{0%{visibility:hidden}25.000%{visibility:visible}100%{visibility:visible}}');
});
