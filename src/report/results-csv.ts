import type { Json } from '#base/json.ts';
import { lookUp } from '#base/look-up.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Topology } from '#space/topology.ts';
import type { Candidate } from '#space/types.ts';
import { listColumns } from '#study/goal/metrics/columns.ts';
import { builtInMetrics, type Metrics } from '#study/goal/metrics/registry.ts';
import { tableMetrics } from '#study/goal/metrics/shown.ts';
import type { TrialPoint } from '#study/goal/ranking.ts';
import type { StudyState } from '#study/records/state.ts';
import type { Trial } from '#study/types.ts';
import { type CsvCell, csvText } from './csv.ts';
import { fixedColumns, laterColumns, type MeasurementColumn, modelColumns } from './results-columns.ts';

/** The columns of a trial that come first, with the meaning of their cells. */
export const trialColumns = [
  { name: 'trial', meaning: "the trial's number; 0 is the original config" },
  { name: 'role', meaning: '`baseline` for the original config, else `search`' },
  { name: 'final_round', meaning: 'the round of the final; empty for a measurement of the search' },
  { name: 'chosen', meaning: 'whether this measurement stands for the trial' },
] as const;

/** Those of a failed trial. */
export const failureColumns = [
  { name: 'failure', meaning: 'the kind of the failure; empty for a measured trial' },
  { name: 'reason', meaning: 'what failed' },
] as const;

/**
 * Returns a table with a row for every measurement of every trial, those of the final after those
 * of the search, and for every failed trial. The columns are the same in every run, except for
 * parameters and for language models. The user's own metrics come at the end, followed by those of
 * the models that are tuned together.
 */
export function resultsCsv(
  { trials, finals }: Pick<StudyState, 'trials' | 'finals'>,
  metrics: Metrics = builtInMetrics,
  topology?: Topology,
): string {
  const parameters = listParameters(trials);
  const all = [...trials.flatMap(({ measurements }) => measurements), ...finals.map(({ measurement }) => measurement)];
  const [fixed, more] = columnsFor(metrics, all, topology);
  const header = [
    ...listNames(trialColumns),
    ...parameters,
    ...listNames(fixed),
    ...listNames(failureColumns),
    ...listNames(more),
  ];
  const rows = trials.flatMap((trial) => {
    const row = (round: CsvCell, isChosen: boolean, measurement?: Measurement): CsvCell[] => [
      ...[trial.number, trial.role, round, String(isChosen)],
      ...listValues(trial, parameters),
      ...formatCells(fixed, measurement, trial.candidate),
      ...[trial.failure?.kind, trial.failure?.reason],
      ...formatCells(more, measurement, trial.candidate),
    ];
    if (trial.measurements.length === 0) return [row('', false)];
    return [
      ...trial.measurements.map((each, index) => row('', index === trial.chosen, each)),
      ...finals
        .filter((final) => final.trial === trial.number)
        .map(({ round, measurement }) => row(round, false, measurement)),
    ];
  });
  return csvText([header, ...rows]);
}

/**
 * Returns the points of the Pareto front, by rising throughput, with the columns of `resultsCsv`.
 */
export function paretoCsv(
  front: readonly TrialPoint[],
  metrics: Metrics = builtInMetrics,
  topology?: Topology,
): string {
  const parameters = listParameters(front.map(({ trial }) => trial));
  const all = front.map(({ measurement }) => measurement);
  const columns = columnsFor(metrics, all, topology).flat();
  const header = ['trial', 'role', 'feasible', ...parameters, ...listNames(columns)];
  const rows = front.map(({ trial, measurement, feasible }) => [
    ...[trial.number, trial.role, String(feasible)],
    ...listValues(trial, parameters),
    ...formatCells(columns, measurement, trial.candidate),
  ]);
  return csvText([header, ...rows]);
}

/**
 * Returns the fixed columns, and those of the other metrics and of the models that are tuned
 * together.
 */
function columnsFor(
  metrics: Metrics,
  among: readonly Measurement[],
  topology: Topology | undefined,
): readonly [readonly MeasurementColumn[], readonly MeasurementColumn[]] {
  const columns = tableMetrics(metrics, among).flatMap(listColumns);
  const fixed = fixedColumns(columns);
  const others = columns.filter((each) => !fixed.includes(each));
  return [fixed, [...laterColumns, ...others, ...modelColumns(topology, metrics)]];
}

const listNames = (columns: readonly { readonly name: string }[]): readonly string[] => columns.map(({ name }) => name);

const formatCells = (
  columns: readonly MeasurementColumn[],
  measurement: Measurement | undefined,
  candidate: Candidate,
): readonly CsvCell[] => columns.map(({ read }) => (measurement === undefined ? '' : read(measurement, candidate)));

const listParameters = (trials: readonly Trial[]): readonly string[] => [
  ...new Set(trials.flatMap((trial) => Object.keys(trial.candidate.assignment))),
];

const listValues = ({ candidate }: Trial, parameters: readonly string[]): readonly CsvCell[] =>
  parameters.map((name) => asCell(lookUp(candidate.assignment, name)));

const asCell = (value: Json | undefined): CsvCell =>
  value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);
