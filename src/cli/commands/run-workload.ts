import { basename, extname, join, parse } from 'node:path';
import { saveWorkload } from '#app/save-workload.ts';
import { shownWorkload } from '#app/show-workload.ts';
import { recordedWorkload } from '#app/workload-from-log.ts';
import { TrituneError } from '#base/errors.ts';
import { capital, formatDuration, formatFigure, inertJson } from '#base/format.ts';
import { CHART_COLUMNS, drawnWorkloadLines } from '#headless/drawn-workload.ts';
import { computeRates } from '#workload/figures.ts';
import { computeMeanRate } from '#workload/plan/plan-of.ts';
import { readWorkload } from '#workload/read-workload.ts';
import { splitWorkload } from '#workload/split.ts';
import { findDuration, type Workload } from '#workload/workload.ts';
import type { Terminal } from '../terminal.ts';
import type { FromLogOptions, ShowOptions, SplitOptions } from './workload-options.ts';

/** `tritune workload show FILE`. */
export async function showWorkload(
  file: string,
  { json, rate, ...options }: ShowOptions,
  terminal: Terminal,
): Promise<void> {
  const shown = shownWorkload(await readWorkload(file), { ...options, meanPerSecond: rate });
  const { workload, plan, figures, naturalS } = shown;
  const rates = computeRates(plan, CHART_COLUMNS);
  if (!json) {
    const drawn = { ...workload, figures, rates, naturalS, isScaled: rate !== undefined };
    for (const line of drawnWorkloadLines(drawn)) terminal.print(line);
    return;
  }
  const drawn = Object.fromEntries(rates.map((classRates, index) => [plan.classes[index] as string, [...classRates]]));
  terminal.print(inertJson(JSON.stringify({ name: workload.name, ...figures, ratesPerSecond: drawn })));
}

/** `tritune workload check FILE…`: a line for each. */
export async function checkWorkloads(files: readonly string[], terminal: Terminal): Promise<void> {
  for (const file of files) terminal.print(`${file}: ${contentLine(await readWorkload(file))}`);
}

function contentLine(workload: Workload): string {
  const { classes, phases, sessions } = workload;
  const counts = [
    [classes.length, 'class', 'classes'],
    [phases.length, 'phase', 'phases'],
  ] as const;
  const parts = counts.map(([count, one, more]) => `${count} ${count === 1 ? one : more}`);
  const rate = `${formatFigure(computeMeanRate(workload))} requests/s on average`;
  return [...parts, ...(sessions ? ['sessions'] : []), formatDuration(findDuration(workload)), rate].join(', ');
}

/** `tritune workload from-log FILE…`. */
export async function workloadFromLog(
  files: readonly string[],
  { output, force, name, match, classes, timeColumn, classColumn }: FromLogOptions,
  terminal: Terminal,
): Promise<void> {
  checkOutput(output);
  const { notes, ...parts } = await recordedWorkload(files, {
    match,
    mostClasses: classes,
    column: timeColumn,
    classColumn,
  });
  const workload: Workload = { name: name ?? basename(output, extname(output)), ...parts, sessions: null };
  const sources = files.map((file) => basename(file)).join(', ');
  const comment = [
    `Made of ${sources} by tritune workload from-log.`,
    ...notes.map((note) => `${capital(note)}.`),
  ].join('\n');
  for (const path of await saveWorkload(workload, { path: output, comment, force })) terminal.print(path);
  for (const note of notes) terminal.tell(note);
  terminal.tell(contentLine(workload));
}

/** `tritune workload split FILE`. */
export async function splitFile(
  file: string,
  { output, force, holdout, block, seed }: SplitOptions,
  terminal: Terminal,
): Promise<void> {
  checkOutput(output);
  const workload = await readWorkload(file);
  const { dir, name, ext } = parse(output);
  const parts = splitWorkload(workload, { holdoutShare: holdout, blockS: block, seed });
  for (const [which, part] of Object.entries(parts)) {
    const comment = `The ${which} part of ${basename(file)}: ${formatFigure(holdout * 100)} % held out, seed ${seed}.`;
    const path = join(dir, `${name}-${which}${ext}`);
    for (const written of await saveWorkload(part, { path, comment, force })) terminal.print(written);
    terminal.tell(`${which}: ${contentLine(part)}`);
  }
}

/** The trace is written next to the workload as CSV, so the two names must differ. */
function checkOutput(path: string): void {
  if (/\.ya?ml$/i.test(path)) return;
  throw new TrituneError('USAGE', `'${path}' does not end in .yaml or .json`, 'write for example -o evening.yaml');
}
