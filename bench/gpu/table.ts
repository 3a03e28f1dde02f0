import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { median } from 'simple-statistics';
import { describeMachine } from '#profiler/machine.ts';
import { foldStudy } from '#study/records/fold.ts';
import { readJournal } from '#study/records/journal.ts';
import type { StudyState } from '#study/records/state.ts';
import { describeAssignment } from '#study/summary/describe.ts';
import type { SummaryPoint } from '#study/summary/point-schema.ts';
import { summarize } from '#study/summary/summary.ts';
import type { Summary } from '#study/summary/summary-schema.ts';
import { type Figure, type HeldOut, predictionCsv, type Told, toldOf } from './held-out.ts';
import type { Machine } from './machine.ts';

type TimeSplit = NonNullable<Summary['explanation']>['after'];

/**
 * The studies in a folder of results as a table in Markdown, from their journals alone:
 * `node bench/gpu/table.ts RESULTS`. The prediction's median error over all measured points is in
 * the table; each point is a row of RESULTS/prediction.csv, which this writes.
 */

const results = resolve(process.argv[2] ?? 'gpu-results');
const machine = JSON.parse(await readFile(join(results, 'machine.json'), 'utf8')) as Machine;
const entries = await readdir(results, { withFileTypes: true });
const names = entries
  .filter((entry) => entry.isDirectory() && !entry.name.endsWith('.recording'))
  .map((entry) => entry.name);
const studies = await Promise.all(
  names.sort().map(async (name) => {
    const state = foldStudy(await readJournal(join(results, name, 'journal.jsonl')));
    return { name, state, told: toldOf(state) };
  }),
);

console.log(`${headOf(machine)}\n`);
for (const measuredOn of new Set(studies.flatMap(({ state }) => state.server.machine ?? []).map(describeMachine)))
  console.log(`Measured on ${measuredOn}.\n`);
const rows = studies.map(({ name, state, told }) => toRow(name, state, told));
const columns = Object.keys(rows[0] ?? {});
console.log(lineOf(columns));
console.log(lineOf(columns.map(() => '---')));
for (const row of rows) console.log(lineOf(Object.values(row)));
await writeFile(join(results, 'prediction.csv'), predictionCsv(studies));

function headOf({ gpus, cpu, cores, torch, python, archive }: Machine): string {
  return [
    gpus ?? 'no GPU',
    `${cores} cores of ${cpu}`,
    torch ? `PyTorch ${torch.version} (CUDA ${torch.cuda}) on Python ${python?.version}` : 'no PyTorch',
    `Triton ${archive.triton}`,
  ].join(' · ');
}

function lineOf(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function toRow(name: string, state: StudyState, told: Told): Record<string, string> {
  const summary = summarize(state, '');
  const { best, baseline, gain, counts, wallSeconds, clientBound, budget } = summary;
  return {
    study: `${name}${summary.feasible ? '' : ' (goal missed)'}`,
    'p99 budget': budget ? `${budget.latencyMs} ms` : '–',
    'original config': pointText(baseline),
    best: pointText(best),
    'a request then': timeText(summary.explanation?.before),
    'and now': timeText(summary.explanation?.after),
    gain: gain ? `${figure(gain.ratio, 2)} (${figure(gain.low, 2)} to ${figure(gain.high, 2)})` : '–',
    'best config': best ? describeAssignment(best.assignment) : '–',
    measurements: String(counts.measurements),
    reloads: String(counts.reloads),
    failed: String(counts.failed),
    'wall time': wallSeconds === null ? '–' : `${Math.round(wallSeconds)} s`,
    'client-bound': clientText(summary, clientBound),
    'prediction, held out': errorText(told['held-out']),
    'prediction, ahead': errorText(told.ahead),
  };
}

function pointText(point: SummaryPoint | null): string {
  if (!point) return '–';
  const { throughput, budgetLatencyMs, load } = point;
  return `${figure(throughput.value, 0)}/s, p99 ${figure(budgetLatencyMs.value, 1)} ms at ${load.value}`;
}

/** Where the mean time of a request goes. */
function timeText(split: TimeSplit | null | undefined): string {
  if (!split) return '–';
  const { totalMs, parts } = split;
  const share = (ms: number | null): string => `${figure(ms === null ? null : (100 * ms) / (totalMs || 1), 0)} %`;
  const shares = parts
    ? `: queue ${share(parts.queueMs)}, compute ${share(parts.computeMs)}, outside ${share(parts.outsideMs)}`
    : '';
  return `${figure(totalMs, 1)} ms${shares}`;
}

function clientText({ counts }: Summary, bound: Summary['clientBound']): string {
  return bound ? `${bound.measurements} of ${counts.measurements}: ${bound.reason}` : 'no';
}

function figure(value: number | null, digits: number): string {
  return value === null ? '–' : value.toFixed(digits);
}

/** The median of by how much of itself each measured figure missed what was predicted of it. */
function errorText(told: readonly HeldOut[]): string {
  if (told.length === 0) return '–';
  const text = (of: (each: HeldOut) => Figure): string =>
    `${(100 * median(told.map((each) => Math.abs(of(each).told / of(each).measured - 1)))).toFixed(1)} %`;
  return `${text(({ throughput }) => throughput)} of throughput, ${text(({ latencyMs }) => latencyMs)} of p99 (${told.length} points)`;
}
