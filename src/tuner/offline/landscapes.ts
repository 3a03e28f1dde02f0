import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Landscape } from './problem.ts';
import { landscapeOf } from './recorded-landscape.ts';
import { checkRecording, readGridFile } from './recording.ts';
import { scenario } from './scenarios.ts';

/** The package's `search-grids/` folder: three levels up from `src/tuner/offline` and from `dist/tuner/offline` alike. */
const gridFolder = fileURLToPath(new URL('../../../search-grids/', import.meta.url));

/** The first so many made-up models. */
export const scenarios = (count: number): Landscape[] => Array.from({ length: count }, (_, index) => scenario(index));

/** Every grid that was recorded on a real server. */
export function recordedGrids(): Landscape[] {
  const files = readdirSync(gridFolder).filter((file) => file.endsWith('.json'));
  return files.sort().map((file) => gridOf(join(gridFolder, file)));
}

/** The recorded grid in that file. Errors: INPUT_INVALID. */
export function gridOf(file: string): Landscape {
  return landscapeOf(checkRecording(readGridFile(file), file));
}
