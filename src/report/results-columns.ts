import { computeClientParts } from '#profiler/client/client-parts.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Topology } from '#space/topology.ts';
import type { Candidate } from '#space/types.ts';
import { listColumns } from '#study/goal/metrics/columns.ts';
import type { MetricColumn } from '#study/goal/metrics/metric.ts';
import { findPart, nameOfModel } from '#study/goal/metrics/of-model.ts';
import type { Metrics } from '#study/goal/metrics/registry.ts';
import type { CsvCell } from './csv.ts';

/** A column about a measurement: one of a metric's, or one of those below. */
export interface MeasurementColumn {
  readonly name: string;
  read(measurement: Measurement, candidate: Candidate): CsvCell;
}

/** A column that is no metric's. */
interface CircumstanceColumn extends MeasurementColumn {
  /** The cell in one phrase, for the documentation. */
  readonly meaning: string;
}

/** Columns about how a measurement was made. */
export const circumstances: readonly CircumstanceColumn[] = [
  { name: 'load_mode', meaning: '`concurrency` or `request-rate`', read: ({ level }) => level.mode },
  { name: 'load_value', meaning: 'requests in flight, or requests per second', read: ({ level }) => level.value },
  {
    name: 'stable',
    meaning: 'whether the intervals became as narrow as asked for',
    read: ({ stable }) => String(stable),
  },
  { name: 'windows', meaning: 'counted windows', read: ({ windows }) => windows },
  { name: 'duration_ms', meaning: 'length of the counted windows', read: ({ durationMs }) => durationMs },
  { name: 'requests', meaning: 'requests that ended in them', read: ({ requests }) => requests },
  { name: 'mean_batch', meaning: 'inferences for each execution of the model', read: meanBatch },
  {
    name: 'client_cpu_us_per_request',
    meaning: 'CPU of the load generator for each request',
    read: ({ client }) => client.cpuUsPerRequest,
  },
  {
    name: 'client_bound',
    meaning: 'whether the load generator was the limit',
    read: ({ client }) => String(client.bound),
  },
  { name: 'achieved_rate', meaning: 'requests sent per second', read: ({ openLoop }) => openLoop?.achievedRate },
  {
    name: 'late_sends',
    meaning: 'requests sent more than a millisecond late',
    read: ({ openLoop }) => openLoop?.lateSends,
  },
  {
    name: 'dropped_sends',
    meaning: 'requests not sent because too many were in flight',
    read: ({ openLoop }) => openLoop?.droppedSends,
  },
];

function meanBatch({ server }: Measurement): CsvCell {
  return server && server.executionCount > 0 ? server.inferenceCount / server.executionCount : null;
}

/**
 * Columns added after the first release, placed after the reason of a failure. `load_batch` is
 * empty if the study does not vary it.
 */
export const laterColumns: readonly CircumstanceColumn[] = [
  {
    name: 'client_send_us',
    meaning: 'mean time to send a request',
    read: (measurement) => computeClientParts(measurement)?.sendUs,
  },
  {
    name: 'client_recv_us',
    meaning: 'mean time to receive a reply',
    read: (measurement) => computeClientParts(measurement)?.receiveUs,
  },
  { name: 'load_batch', meaning: 'samples in a request, if the study varies them', read: ({ level }) => level.batch },
];

/** Figures of a stage that are not metrics. */
const stageColumns = ['requests', 'mean_batch'];
const frontColumns = ['load_value', 'stable', ...stageColumns];

/**
 * Returns the columns of models that are tuned together, after all others, as `COLUMN@MODEL`: for
 * each of several fronts, what its clients see; for every model, the server's split of its time.
 * Empty for a single model.
 */
export function modelColumns(topology: Topology | undefined, metrics: Metrics): readonly MeasurementColumn[] {
  if (!topology) return [];
  const { fronts, stages } = topology;
  const isMix = fronts.length > 1;
  const models = new Set([...(isMix ? fronts.map(({ model }) => model) : []), ...stages]);
  return [...models].flatMap((model) => {
    const isFront = isMix && fronts.some((front) => front.model === model);
    const shownMetrics = metrics.all.filter(({ name, ofServer, needs }) =>
      isFront ? !ofServer && !needs.includes('candidate') : OF_STAGES.includes(name),
    );
    const keptCircumstances = circumstances.filter(({ name }) =>
      (isFront ? frontColumns : stageColumns).includes(name),
    );
    return [
      ...shownMetrics.flatMap(({ name }) => listColumns(metrics.named(nameOfModel(name, model)))),
      ...keptCircumstances.map(({ name, read }) => ({
        name: nameOfModel(name, model),
        read: (measurement: Measurement, candidate: Candidate) => {
          const part = findPart(measurement, model);
          return part && read(part, candidate);
        },
      })),
    ];
  });
}

/** Metrics that the server reports for a model inside a pipeline. */
const OF_STAGES = ['queue-time', 'compute-time'];

/**
 * The order of columns, which scripts rely on. Names are never moved or removed; new ones go to
 * `laterColumns`.
 */
const order: readonly string[] = [
  ...['load_mode', 'load_value'],
  ...['throughput_infer_per_s', 'throughput_low', 'throughput_high'],
  ...['latency_avg_ms', 'latency_p50_ms', 'latency_p90_ms', 'latency_p95_ms', 'latency_p99_ms'],
  ...['stable', 'windows', 'duration_ms', 'requests', 'error_rate'],
  ...['server_queue_us', 'server_compute_input_us', 'server_compute_infer_us', 'server_compute_output_us'],
  'mean_batch',
  ...['gpu_utilization_percent', 'gpu_memory_mib', 'gpu_power_w', 'cpu_utilization_percent'],
  ...['client_cpu_us_per_request', 'client_bound', 'achieved_rate', 'late_sends', 'dropped_sends'],
  ...['scheduled_latency_p50_ms', 'scheduled_latency_p99_ms'],
];

/**
 * Returns the fixed columns in order, with the metrics among `columns`. A column without a metric
 * stays and is empty.
 */
export const fixedColumns = (columns: readonly MetricColumn[]): readonly MeasurementColumn[] =>
  order.map((name) => [...circumstances, ...columns].find((each) => each.name === name) ?? { name, read: () => null });
