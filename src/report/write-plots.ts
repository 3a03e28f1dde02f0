import { join } from 'node:path';
import { writeIn } from '#base/run-files.ts';
import { explainBest } from '#study/analysis/explain/explain.ts';
import type { StudyState } from '#study/records/state.ts';
import { filePaper } from './charts/svg.ts';
import { titled } from './charts/titled.ts';
import { studyCharts } from './page/charts.ts';
import { chartTitle } from './page/titles.ts';
import { pngRenderer } from './png.ts';

/**
 * Writes the study's charts with their titles into `plots/` of its directory, as SVG first and then
 * as PNG. Resolves to their paths; empty if nothing was measured. Errors: OUTPUT_UNWRITABLE,
 * UNSUPPORTED if PNGs cannot be made.
 */
export async function writePlots(state: StudyState, directory: string): Promise<readonly string[]> {
  const explanation = explainBest(state);
  const plots = [...studyCharts(state)].map(([name, chart]) => ({
    name,
    svg: titled(chart(filePaper), chartTitle(name, state, explanation), filePaper),
  }));
  if (plots.length === 0) return [];
  const write = (file: string, content: string | Uint8Array) => writeIn(directory, ['plots', file], content);
  for (const { name, svg } of plots) await write(`${name}.svg`, svg);
  const png = await pngRenderer();
  for (const { name, svg } of plots) await write(`${name}.png`, png(svg));
  return plots.flatMap(({ name }) => ['svg', 'png'].map((kind) => join(directory, 'plots', `${name}.${kind}`)));
}
