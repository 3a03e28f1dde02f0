import { exitCodeFor, exitCodeMeanings, exitCodes, worstFirst } from '#app/exit-codes.ts';
import { type ErrorCode, errorCodes } from '#base/errors.ts';
import { perfAnalyzerExitCodes, perfAnalyzerExitMeanings } from '#cli/commands/profile/perf-analyzer-verdict.ts';
import { circumstances, fixedColumns, laterColumns } from '#report/results-columns.ts';
import { failureColumns, trialColumns } from '#report/results-csv.ts';
import {
  drivers,
  extras,
  findRefusal,
  type LoadKind,
  loads,
  type Refusal,
  refusals,
  subjects,
} from '#spec/combinations.ts';
import { listColumns } from '#study/goal/metrics/columns.ts';
import { type Metric, metricNeeds } from '#study/goal/metrics/metric.ts';
import { builtInMetrics } from '#study/goal/metrics/registry.ts';
import { printPage, printTable } from './markdown.ts';
import { code } from './type-words.ts';

/** Returns the page of exit codes and of the error codes that lead to them, as Markdown. */
export function exitCodesPage(): string {
  const names = Object.keys(exitCodes) as (keyof typeof exitCodes)[];
  const codes = Object.keys(errorCodes) as ErrorCode[];
  const errorsOf = (exit: number): string =>
    codes
      .filter((each) => exitCodeFor(each) === exit)
      .map(code)
      .join(', ');
  const perfAnalyzer = Object.keys(perfAnalyzerExitCodes) as (keyof typeof perfAnalyzerExitCodes)[];
  return printPage('Exit codes', [
    'Every error names its code, what happened, and what to do. Scripts can rely on both kinds of codes.',
    printTable(
      ['exit code', 'meaning', 'error codes'],
      names.map((name) => [code(exitCodes[name]), exitCodeMeanings[name], errorsOf(exitCodes[name])]),
    ),
    `A command with several runs exits with the worst of their codes, in this order: ${worstFirst.map((name) => exitCodes[name]).join(', ')}.`,
    '## Error codes',
    printTable(
      ['error code', 'what happened', 'exit code'],
      codes.map((each) => [code(each), errorCodes[each], String(exitCodeFor(each))]),
    ),
    '## tritune-perf-analyzer',
    "It has perf_analyzer's exit codes.",
    printTable(
      ['exit code', 'meaning'],
      perfAnalyzer.map((name) => [code(perfAnalyzerExitCodes[name]), perfAnalyzerExitMeanings[name]]),
    ),
  ]);
}

/** Returns the page of the columns of `results.csv`, as Markdown. */
export function resultsCsvPage(): string {
  const ofMetrics = builtInMetrics.all.flatMap((metric) =>
    listColumns(metric).map((column) => ({ ...column, metric })),
  );
  const described = new Map<string, readonly [meaning: string, metric: string]>([
    ...ofMetrics.map(
      ({ name, meaning, metric }) => [name, [meaning ?? wordsOf(name, metric), code(metric.name)]] as const,
    ),
    ...[...circumstances, ...laterColumns].map(({ name, meaning }) => [name, [meaning, '']] as const),
  ]);
  const fixed = fixedColumns([]).map(({ name }) => name);
  const later = laterColumns.map(({ name }) => name);
  const others = ofMetrics.map(({ name }) => name).filter((name) => !fixed.includes(name));
  const rows = [
    ...trialColumns.map(({ name, meaning }) => [code(name), meaning, '']),
    ['one for each parameter', 'its value', ''],
    ...fixed.map((name) => [code(name), ...(described.get(name) ?? [])]),
    ...failureColumns.map(({ name, meaning }) => [code(name), meaning, '']),
    ...[...later, ...others].map((name) => [code(name), ...(described.get(name) ?? [])]),
    ['`COLUMN@MODEL`', 'the column of one of several models', ''],
  ];
  return printPage('results.csv', [
    'Every measurement of a study has a row, and every trial that failed. Columns keep their names and order; new ones come at the end. A cell is empty if nothing was measured. `pareto.csv` has the points of the front, with `feasible` in place of `final_round` and `chosen`, and without the columns of failures.',
    printTable(['column', 'meaning', 'metric'], rows),
    'Columns of tokens, limits and prices are there if the study has them. Metrics of your own follow them.',
  ]);
}

/** Returns what a metric's column holds: its value, or an end of its interval. */
function wordsOf(name: string, { description }: Metric): string {
  if (name.endsWith('_low')) return 'lower end of its 95 % interval';
  if (name.endsWith('_high')) return 'upper end of its 95 % interval';
  return description;
}

/** Returns the page of metrics, and of what they need, as Markdown. */
export function metricsPage(): string {
  const needs = Object.values(metricNeeds);
  return printPage('Table of metrics', [
    'What `--objective` and `--constraint` can name. [Metrics](../metrics.md) says how to write them, and what an interval is.',
    printTable(['metric', 'what it is', 'unit', 'better', '95 % interval', 'needs'], builtInMetrics.all.map(metricRow)),
    '## Needs',
    'A study whose goal needs something that the server lacks ends at its first measurement and names the metric.',
    printTable(
      ['need', 'source'],
      needs.map(({ words, source }) => [words, source]),
    ),
  ]);
}

function metricRow({ name, description, unit, units, better, interval, needs }: Metric): readonly string[] {
  const spellings = [...new Set([unit, ...Object.keys(units)])].filter((each) => each !== '');
  return [
    code(name),
    description,
    spellings.join(', '),
    better,
    interval ? `from ${interval.from === 'windows' ? 'windows' : 'histograms'}` : '',
    needs.map((need) => metricNeeds[need].words).join(', '),
  ];
}

/** Returns the page of what can be combined, as Markdown. */
export function combinationsPage(): string {
  const place = (refusal: Refusal | null): string =>
    refusal === null ? 'yes' : `[${refusals.indexOf(refusal) + 1}](#why-not)`;
  const usual = (driver: (typeof drivers)[number]): LoadKind =>
    driver === 'capacity' ? 'request rate' : 'concurrency';
  const tableOf = (driver: (typeof drivers)[number]): string =>
    printTable(
      [driver, ...loads, ...extras],
      subjects.map((subject) => {
        // Several models share a load only under a workload, when they are measured as they are.
        const load = subject === 'several models' && driver !== 'tune' ? 'workload' : usual(driver);
        return [
          subject,
          ...loads.map((each) => place(findRefusal({ subject, driver, load: each, extras: [] }))),
          ...extras.map((extra) => place(findRefusal({ subject, driver, load, extras: [extra] }))),
        ];
      }),
    );
  return printPage('What can be combined', [
    'Whatever is measured, however it is loaded: `yes` works, and a number is the reason why it does not. Every combination but those of fleets is played in one suite of tests.',
    ...drivers.map(tableOf),
    '## Why not',
    refusals.map(({ reason, hint }, index) => `${index + 1}. Not possible, ${reason}: ${hint}.`).join('\n'),
  ]);
}
