import { filePaper } from './charts/svg.ts';
import { titled } from './charts/titled.ts';
import type { PngRenderer } from './png.ts';
import type { ScenarioCase, ScenarioFile, ScenarioRow } from './scenario-case.ts';
import { scenarioPlots } from './scenario-plots.ts';
import { formatCsv, parameterLines, resultLines } from './scenario-tables.ts';

/**
 * Returns a scenario's table as CSV and as Markdown with its parameters, and its plots as SVG and,
 * with a renderer, as PNG.
 */
export function scenarioFiles(
  rows: readonly ScenarioRow[],
  common: ScenarioCase,
  png: PngRenderer | null,
): readonly ScenarioFile[] {
  const { scenario } = common;
  const plots = scenarioPlots(rows, scenario).map(({ chart, title, ...plot }) => ({
    ...plot,
    svg: titled(chart(filePaper), title, filePaper),
  }));
  const pictures = plots.map(({ name, about }) => `![${about}](./${name}.${png ? 'png' : 'svg'})`);
  const document = [
    `# ${formatTitle(common)}`,
    '',
    ...parameterLines(common),
    '',
    ...pictures.flatMap((picture) => [picture, '']),
    ...resultLines(rows),
  ];
  return [
    { name: `results_${scenario}.csv`, content: formatCsv(rows, common) },
    { name: `results_${scenario}.md`, content: `${document.join('\n')}\n` },
    ...plots.flatMap(({ name, svg }) => [
      { name: `${name}.svg`, content: svg },
      ...(png ? [{ name: `${name}.png`, content: png(svg) }] : []),
    ]),
  ];
}

/**
 * Returns the known part of `Offline: NVIDIA A30, NVIDIA TensorRT with FP16, Dataset: electricity`.
 */
function formatTitle({ scenario, parameters }: ScenarioCase): string {
  const values = new Map(parameters);
  const precision = values.get('Precision');
  const backend = `${values.get('Backend')}${precision === undefined ? '' : ` with ${precision}`}`;
  const where = values.get('GPU') ?? 'CPU';
  return `${scenario === 'offline' ? 'Offline' : 'Online'}: ${where}, ${backend}, Dataset: ${values.get('Dataset')}`;
}
