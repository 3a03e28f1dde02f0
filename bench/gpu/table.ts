import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { median } from 'simple-statistics';
import type { Measurement } from '../../src/profiler/measurement.ts';
import { foldStudy } from '../../src/study/fold.ts';
import { readJournal } from '../../src/study/journal.ts';
import { forecaster, observationsOf } from '../../src/study/prediction.ts';
import type { StudyState } from '../../src/study/state.ts';
import { type Summary, type SummaryPoint, summarize } from '../../src/study/summary.ts';
import type { Trial } from '../../src/study/types.ts';
import { drawOf } from '../../src/study/what-if/draw.ts';
import type { Machine } from './machine.ts';

/**
 * The studies in a folder of results as a table in Markdown, from their journals alone: `node bench/gpu/table.ts RESULTS`. The prediction is the
 * queueing model's, held out (each trial foretold from all others) and ahead (each from those before it, once six measurements were
 * made), as the median error over all measured points.
 */
const FIRST = 6;

const results = resolve(process.argv[2] ?? 'gpu-results');
const machine = JSON.parse(await readFile(join(results, 'machine.json'), 'utf8')) as Machine;
const entries = await readdir(results, { withFileTypes: true });
const names = entries
  .filter((entry) => entry.isDirectory() && !entry.name.endsWith('.recording'))
  .map((entry) => entry.name);
const studies = await Promise.all(
  names
    .sort()
    .map(async (name) => ({ name, state: foldStudy(await readJournal(join(results, name, 'journal.jsonl'))) })),
);

console.log(`${headOf(machine)}\n`);
const rows = studies.map(({ name, state }) => rowOf(name, state));
const columns = Object.keys(rows[0] ?? {});
console.log(lineOf(columns));
console.log(lineOf(columns.map(() => '---')));
for (const row of rows) console.log(lineOf(Object.values(row)));

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

function rowOf(name: string, state: StudyState): Record<string, string> {
  const summary = summarize(state, '');
  const { best, baseline, gain, counts, wallSeconds, clientBound, budget } = summary;
  return {
    study: `${name}${summary.feasible ? '' : ' (goal missed)'}`,
    'p99 budget': budget ? `${budget.latencyMs} ms` : '–',
    'original config': pointText(baseline),
    best: pointText(best),
    gain: gain ? `${figure(gain.ratio, 2)} (${figure(gain.low, 2)} to ${figure(gain.high, 2)})` : '–',
    'best config': best ? assignmentText(best) : '–',
    measurements: String(counts.measurements),
    reloads: String(counts.reloads),
    failed: String(counts.failed),
    'wall time': wallSeconds === null ? '–' : `${Math.round(wallSeconds)} s`,
    'client-bound': clientText(summary, clientBound),
    'prediction, held out': errorText(missesOf(state, 'held-out')),
    'prediction, ahead': errorText(missesOf(state, 'ahead')),
  };
}

function pointText(point: SummaryPoint | null): string {
  if (!point) return '–';
  const { throughput, budgetLatencyMs, load } = point;
  return `${figure(throughput.value, 0)}/s, p99 ${figure(budgetLatencyMs.value, 1)} ms at ${load.value}`;
}

function assignmentText({ assignment }: SummaryPoint): string {
  const settings = Object.entries(assignment).map(([knob, value]) => `${knob}=${String(value)}`);
  return settings.join(' ') || 'the original';
}

function clientText({ counts }: Summary, bound: Summary['clientBound']): string {
  return bound ? `${bound.measurements} of ${counts.measurements}: ${bound.reason}` : 'no';
}

function figure(value: number | null, digits: number): string {
  return value === null ? '–' : value.toFixed(digits);
}

/** By how much of itself each measured figure missed what was foretold of it. */
interface Misses {
  readonly throughput: readonly number[];
  readonly latency: readonly number[];
}

function errorText({ throughput, latency }: Misses): string {
  if (throughput.length === 0) return '–';
  const [rate, tail] = [throughput, latency].map((errors) => `${(100 * median([...errors])).toFixed(1)} %`);
  return `${rate} of throughput, ${tail} of p99 (${throughput.length} points)`;
}

function missesOf({ trials }: StudyState, way: 'held-out' | 'ahead'): Misses {
  const told = trials.flatMap((target) => {
    const others = trials.filter(({ number }) => (way === 'ahead' ? number < target.number : number !== target.number));
    if (others.flatMap(observationsOf).length < (way === 'ahead' ? FIRST : 1)) return [];
    const forecast = forecaster(others);
    return target.measurements.flatMap((measurement) => missOf(forecast, target, measurement));
  });
  return { throughput: told.map((each) => each.throughput), latency: told.map((each) => each.latency) };
}

/** None for a point that the model says nothing of, or that was disturbed. */
function missOf(forecast: ReturnType<typeof forecaster>, target: Trial, measurement: Measurement) {
  const { level, throughput, budgetLatencyMs } = measurement;
  if (observationsOf({ ...target, measurements: [measurement] }).length === 0) return [];
  const told = forecast(target.candidate.config, level, drawOf(budgetLatencyMs.percentile));
  if (!told) return [];
  return [
    {
      throughput: Math.abs(told.throughput / throughput.value - 1),
      latency: Math.abs(told.budgetLatencyMs.value / budgetLatencyMs.value - 1),
    },
  ];
}
