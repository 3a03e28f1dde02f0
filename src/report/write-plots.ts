import { join } from 'node:path';
import { explainBest } from '../study/analysis/explain/explain.ts';
import type { StudyState } from '../study/records/state.ts';
import { filePaper } from './charts/svg.ts';
import { titled } from './charts/titled.ts';
import { studyCharts } from './page/charts.ts';
import { chartTitle } from './page/titles.ts';
import { pngRenderer } from './png.ts';
import { writeWhole } from './write-run.ts';

/**
 * Writes the study's charts with their titles into `plots/` of its directory, as SVG first and then as PNG. Resolves to their paths; empty if nothing was measured.
 * Errors: OUTPUT_UNWRITABLE, UNSUPPORTED if PNGs cannot be made.
 */
export async function writePlots(state: StudyState, directory: string): Promise<readonly string[]> {
  const explanation = explainBest(state);
  const plots = [...studyCharts(state)].map(([name, chart]) => ({
    path: join(directory, 'plots', name),
    svg: titled(chart(filePaper), chartTitle(name, state, explanation), filePaper),
  }));
  if (plots.length === 0) return [];
  for (const { path, svg } of plots) await writeWhole(`${path}.svg`, svg);
  const png = await pngRenderer();
  for (const { path, svg } of plots) await writeWhole(`${path}.png`, png(svg));
  return plots.flatMap(({ path }) => [`${path}.svg`, `${path}.png`]);
}
