import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { RoomRow } from '../test/support/room-rows.ts';

const [WIDTH, ROW, BOX, GAP, LEFT, RIGHT] = [860, 46, 128, 8, 16, 170];
const HEADER = 34;

/**
 * The rooms of the code as an SVG file: a band for each row of the table in docs/architecture.md,
 * in the table's order. Each box has a room's name and the number of its files in `source`.
 */
export function roomsFigure(rows: readonly RoomRow[], source: string): string {
  const height = HEADER + rows.length * ROW + 12;
  const bands = rows.map((row, index) => band(row, HEADER + index * ROW, source));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img"><title>The rooms of src, each row built on the rows above it</title>
<style>
text{font:14px system-ui,sans-serif;fill:#1f2328}.small{font-size:12px;fill:#59636e}.name{font-size:13px;font-weight:600}.files{font-size:12px;fill:#59636e;text-anchor:end}
.band{fill:#f6f8fa}.box{fill:#fff;stroke:#8250df}.arrow{stroke:#8250df;fill:none}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.small,.files{fill:#9198a1}.band{fill:#161b22}.box{fill:#0d1117;stroke:#ab7df8}.arrow{stroke:#ab7df8}}
</style>
<text class="small" x="${LEFT}" y="20">A room imports only from the rows above it. The number counts its files.</text>
<text class="small" x="${WIDTH - RIGHT + 12}" y="20">knows nothing of</text>
${bands.join('\n')}
<path class="arrow" d="M7 ${height - 18}V${HEADER + 2}m-4 7l4 -7l4 7"/>
</svg>
`;
}

function band({ rooms, ignorant }: RoomRow, y: number, source: string): string {
  const boxes = rooms.map((room, index) => {
    const x = LEFT + 6 + index * (BOX + GAP);
    const count = filesIn(join(source, room));
    return [
      `<rect class="box" x="${x}" y="${y + 5}" width="${BOX}" height="${ROW - 16}" rx="6"/>`,
      `<text class="name" x="${x + 10}" y="${y + 25}">${room}</text>`,
      `<text class="files" x="${x + BOX - 10}" y="${y + 25}">${count}</text>`,
    ].join('');
  });
  const words = `<text class="small" x="${WIDTH - RIGHT + 12}" y="${y + 25}">${ignorant}</text>`;
  return `<rect class="band" x="${LEFT}" y="${y}" width="${WIDTH - LEFT - 4}" height="${ROW - 6}" rx="8"/>${boxes.join('')}${words}`;
}

/** How many TypeScript files there are in a room. */
const filesIn = (room: string): number =>
  readdirSync(room, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts')).length;
