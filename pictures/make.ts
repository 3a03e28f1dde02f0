import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { roomRows } from '../test/support/room-rows.ts';
import { FILM_SPEED, filmSize, playDemo, stillSize } from './demo.ts';
import { photographReport } from './report.ts';
import { roomsFigure } from './rooms.ts';
import { realStudy } from './study.ts';
import { movingPicture, stillPicture } from './terminal-svg.ts';

/**
 * Makes the pictures in `docs/pictures` from real runs: `npm run pictures`, or
 * `npm run pictures -- NAME…` for some of them. It takes four minutes on an idle machine.
 *
 * - `demo`: runs the README's demo on a pseudo-terminal, plays its bytes on a terminal in memory
 *   (xterm), and draws its cells: `demo.svg`, which moves, and `screen.svg`, the end of the same
 *   run on a larger terminal. It needs python3.
 * - `study`: tunes the model of the tutorial on a real Triton, which it fetches from PyPI on first
 *   use. `front.svg` is the chart that `tritune report --plots` wrote, `report-light.png` and
 *   `report-dark.png` the first screen of the study's report in a headless Chromium.
 * - `rooms`: `rooms.svg` is drawn from the table in docs/architecture.md.
 */
const root = resolve(import.meta.dirname, '..');
const directory = join(root, 'docs/pictures');

const makers: Readonly<Record<string, () => Promise<void>>> = { rooms, demo, study };

async function rooms(): Promise<void> {
  const page = await readFile(join(root, 'docs/architecture.md'), 'utf8');
  await writeFile(join(directory, 'rooms.svg'), roomsFigure(roomRows(page), join(root, 'src')));
}

async function demo(): Promise<void> {
  const { frames, last } = await playDemo();
  const title = `tritune tunes an emulated model, ${FILM_SPEED} times as fast as it does`;
  await writeFile(join(directory, 'demo.svg'), movingPicture(frames, { ...filmSize, title }));
  const still = { ...stillSize, title: 'The screen of tritune at the end of a run' };
  await writeFile(join(directory, 'screen.svg'), stillPicture(last, still));
}

async function study(): Promise<void> {
  const made = await realStudy();
  await copyFile(join(made, 'plots/front.svg'), join(directory, 'front.svg'));
  await photographReport(made, directory);
}

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !(name in makers));
if (unknown.length > 0)
  throw new Error(`no picture is called ${unknown.join(', ')}: there are ${Object.keys(makers).join(', ')}`);
await mkdir(directory, { recursive: true });
for (const [name, make] of Object.entries(makers)) {
  if (asked.length === 0 || asked.includes(name)) await make();
}
