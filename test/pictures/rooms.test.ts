import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { roomsFigure } from '../../pictures/rooms.ts';
import { roomRows } from '../support/room-rows.ts';

it('draws a band for each row of the table, with the files of each room', async () => {
  const source = await mkdtemp(join(tmpdir(), 'tritune-rooms-'));
  for (const [room, count] of Object.entries({ base: 1, stats: 2, http2: 0 })) {
    await mkdir(join(source, room, 'below'), { recursive: true });
    for (let file = 0; file < count; file++) await writeFile(join(source, room, 'below', `${file}.ts`), '');
  }
  const rows = roomRows(
    '## Rooms\n\n| rooms | x | y |\n|---|---|---|\n| `base` | a | all |\n| `stats` · `http2` | b | — |\n\n## More',
  );
  expect(rows).toEqual([
    { rooms: ['base'], ignorant: 'all' },
    { rooms: ['stats', 'http2'], ignorant: '' },
  ]);
  const text = roomsFigure(rows, source).replaceAll(/<[^>]*>/g, ' ');
  expect(text).toMatch(/base +1 +all\s+stats +2 +http2 +0/);
});
