import type { Measurement } from '#profiler/measurement.ts';
import type { GpuMetrics } from '#profiler/server-figures.ts';
import { type Assessment, assess, compareAssessments, missingMetrics } from '#study/goal/goal.ts';
import type { StudyState } from '#study/records/state.ts';
import type { Goal, Trial } from '#study/types.ts';
import { analyzerNames } from './analyzer-names.ts';
import { type CsvCell, csvText } from './csv.ts';

interface Table {
  readonly name: string;
  readonly text: string;
}

/** A measurement as Model Analyzer lists it. */
interface Row {
  readonly trial: Trial;
  readonly measurement: Measurement;
  readonly satisfies: boolean;
}

const BYTES_PER_MB = 1e6;

/**
 * Returns the study as the three tables of Model Analyzer 1.58, under the names of its files: the
 * same columns in the same order, the same units, and `\n` as the line end. The best config stands
 * first, and within a config what meets the goal. `MODEL_config_N` is trial N,
 * `MODEL_config_default` the original config; several models' values stand in one cell
 * (`analyzerNames`). Two things differ: figures have up to three decimals where Model Analyzer has
 * one, and the cell of a figure that was not measured is empty, such as those of the server alone.
 */
export function analyzerTables(state: StudyState): readonly Table[] {
  const rows = listRows(state);
  const load = state.started.levels.mode === 'concurrency' ? 'Concurrency' : 'Request Rate';
  const batchIn = ({ measurement }: Row): number => measurement.level.batch ?? state.started.spec.traffic.batch;
  const names = analyzerNames(state);
  const inference = rows.map((row) => [
    ...[names.model, batchIn(row), names.level(row.measurement), names.configPath(row.trial)],
    ...[names.instanceGroups(row.trial), names.maxBatchSizes(row.trial), yesOrNo(row)],
    ...[
      withFronts(row.measurement, ({ throughput }) => throughput.value),
      withFronts(row.measurement, ({ latencyMs }) => latencyMs.p99),
    ],
  ]);
  const gpu = rows.flatMap((row) =>
    (row.measurement.device.gpus ?? []).map((each) => [
      ...[names.model, each.uuid, batchIn(row), names.level(row.measurement), names.configPath(row.trial)],
      ...[names.instanceGroups(row.trial), yesOrNo(row), ...gpuFigures(each)],
    ]),
  );
  const uuids = new Set(rows.flatMap(({ measurement }) => measurement.device.gpus ?? []).map(({ uuid }) => uuid));
  const server = [...uuids].map((uuid) => ['triton-server', uuid, ...gpuFigures({ uuid })]);
  return [
    table('metrics-model-inference.csv', ['Model', 'Batch', load, ...configColumns, ...figureColumns], inference),
    table('metrics-model-gpu.csv', ['Model', 'GPU UUID', 'Batch', load, ...gpuConfigColumns, ...gpuColumns], gpu),
    table('metrics-server-only.csv', ['Model', 'GPU UUID', ...gpuColumns], server),
  ];
}

const configColumns = ['Model Config Path', 'Instance Group', 'Max Batch Size', 'Satisfies Constraints'];
const figureColumns = ['Throughput (infer/sec)', 'p99 Latency (ms)'];
const gpuConfigColumns = ['Model Config Path', 'Instance Group', 'Satisfies Constraints'];
const gpuColumns = ['GPU Memory Usage (MB)', 'GPU Utilization (%)', 'GPU Power Usage (W)'];

const table = (name: string, header: readonly string[], rows: readonly (readonly CsvCell[])[]): Table => ({
  name,
  text: csvText([header, ...rows], '\n'),
});

function gpuFigures({ memoryBytes, utilizationPercent, powerW }: GpuMetrics): readonly CsvCell[] {
  const memoryMb = memoryBytes === undefined ? undefined : memoryBytes / BYTES_PER_MB;
  return [memoryMb, utilizationPercent, powerW].map(rounded);
}

/** Returns every measurement of every trial, in order. */
function listRows({ trials, goal }: StudyState): readonly Row[] {
  const ranked = trials.map((trial) =>
    trial.measurements
      .map((measurement) => ({ trial, measurement, stands: computeStanding(trial, measurement, goal) }))
      .sort((a, b) => compareAssessments(a.stands, b.stands)),
  );
  return ranked
    .sort((a, b) => compareAssessments(a[0]?.stands ?? worst, b[0]?.stands ?? worst))
    .flat()
    .map(({ stands, ...row }) => ({ ...row, satisfies: stands.feasible }));
}

const worst: Assessment = {
  feasible: false,
  cost: Number.POSITIVE_INFINITY,
  violation: Number.POSITIVE_INFINITY,
};

const computeStanding = ({ candidate }: Trial, measurement: Measurement, goal: Goal): Assessment =>
  missingMetrics(measurement, candidate, goal).length === 0 ? assess(measurement, candidate, goal) : worst;

/**
 * Returns the total, followed in brackets by the figures of models that are sent requests side by
 * side: `421, [184.5,236.5]`.
 */
function withFronts(measurement: Measurement, of: (figures: Figures) => number): CsvCell {
  const whole = rounded(of(measurement));
  if (!measurement.fronts) return whole;
  return `${whole ?? ''}, [${measurement.fronts.map((front) => rounded(of(front))).join(',')}]`;
}

type Figures = Pick<Measurement, 'throughput' | 'latencyMs'>;

const yesOrNo = ({ satisfies }: Row): string => (satisfies ? 'Yes' : 'No');

const rounded = (value: number | undefined): CsvCell => (value === undefined ? null : Number(value.toFixed(3)));
