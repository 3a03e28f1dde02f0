import { join } from 'node:path';
import type { StudyState } from '../study/records/state.ts';
import { filePaper } from './charts/svg.ts';
import { studyCharts } from './page/charts.ts';
import { pngRenderer } from './png.ts';
import { writeWhole } from './write-run.ts';

/**
 * Writes the study's charts into `plots/` of its directory, as SVG first and then as PNG. Resolves to their paths; empty if nothing was measured.
 * Errors: OUTPUT_UNWRITABLE, UNSUPPORTED if PNGs cannot be made.
 */
export async function writePlots(state: StudyState, directory: string): Promise<readonly string[]> {
  const plots = [...studyCharts(state)].map(([name, chart]) => ({
    path: join(directory, 'plots', name),
    svg: chart(filePaper),
  }));
  if (plots.length === 0) return [];
  for (const { path, svg } of plots) await writeWhole(`${path}.svg`, svg);
  const png = await pngRenderer();
  for (const { path, svg } of plots) await writeWhole(`${path}.png`, png(svg));
  return plots.flatMap(({ path }) => [`${path}.svg`, `${path}.png`]);
}
