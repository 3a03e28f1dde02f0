import { cp, mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Sitting, sitDown } from '../test/tui/pseudo-terminal.ts';
import { drawnRows } from './terminal-rows.ts';
import type { Frame } from './terminal-svg.ts';

/** What a run of the demo showed. */
export interface DemoPictures {
  readonly frames: readonly Frame[];
  readonly last: readonly string[];
}

/** The terminal of the film, and the larger one of the last picture. */
export const filmSize = { columns: 80, rows: 24 } as const;
export const stillSize = { columns: 120, rows: 38 } as const;
/** The film shows the run so many times as fast. */
export const FILM_SPEED = 8;
const FRAME_MS = 500;
/** How long the result is to be read, before the film begins again. */
const LAST_FRAME_MS = 6000;
const LONGEST_RUN_MS = 300_000;

/** Runs `npm run demo` on a terminal, watches it, and looks at its end on a larger one as well. */
export async function playDemo(): Promise<DemoPictures> {
  const cwd = await mkdtemp(join(tmpdir(), 'tritune-pictures-'));
  await cp(resolve(import.meta.dirname, '../examples'), join(cwd, 'examples'), { recursive: true });
  const at = sitDown([...(await demoArguments()), '-o', 'demo'], { ...filmSize, cwd, env: { FORCE_COLOR: '1' } });
  try {
    const frames = await film(at);
    at.resize(stillSize.columns, stillSize.rows);
    // A line that only the larger screen has room for; then the rest of that frame.
    await at.until(new RegExp(`─{${filmSize.columns}}|^.{${filmSize.columns + 1}}`, 'm'));
    await sleep(1000);
    return { frames, last: drawnRows(await at.cells(), stillSize) };
  } finally {
    await at.leave();
  }
}

/** The arguments of the README's own command. */
async function demoArguments(): Promise<readonly string[]> {
  const text = await readFile(resolve(import.meta.dirname, '../package.json'), 'utf8');
  const { scripts } = JSON.parse(text) as { readonly scripts: Readonly<Record<string, string>> };
  const [, , ...args] = (scripts.demo ?? '').split(' ');
  return args;
}

/** Looks at the screen once for each frame of the film, until the run has ended. */
async function film(at: Sitting): Promise<readonly Frame[]> {
  const frames: Frame[] = [];
  const endMs = performance.now() + LONGEST_RUN_MS;
  for (let hasEnded = false; !hasEnded; ) {
    if (performance.now() > endMs) throw new Error(`the demo did not end within ${LONGEST_RUN_MS / 1e3} s`);
    await sleep(FRAME_MS * FILM_SPEED);
    hasEnded = /the run has ended/.test(await at.screen());
    const rows = drawnRows(await at.cells(), filmSize);
    if (at.isAlternate()) frames.push({ rows, holdMs: hasEnded ? LAST_FRAME_MS : FRAME_MS });
  }
  return frames;
}
