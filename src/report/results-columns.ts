import { clientPartsOf } from '../profiler/client/client-parts.ts';
import type { Measurement } from '../profiler/measurement.ts';
import type { Topology } from '../space/topology.ts';
import type { Candidate } from '../space/types.ts';
import { columnsOf } from '../study/goal/metrics/columns.ts';
import type { MetricColumn } from '../study/goal/metrics/metric.ts';
import { nameOfModel, partOf } from '../study/goal/metrics/of-model.ts';
import type { Metrics } from '../study/goal/metrics/registry.ts';
import type { Cell } from './csv.ts';

/** A column about a measurement: one of a metric's, or one of those below. */
export interface MeasurementColumn {
  readonly name: string;
  read(measurement: Measurement, candidate: Candidate): Cell;
}

/** Columns about how a measurement was made. */
const circumstances: readonly MeasurementColumn[] = [
  { name: 'load_mode', read: ({ level }) => level.mode },
  { name: 'load_value', read: ({ level }) => level.value },
  { name: 'stable', read: ({ stable }) => String(stable) },
  { name: 'windows', read: ({ windows }) => windows },
  { name: 'duration_ms', read: ({ durationMs }) => durationMs },
  { name: 'requests', read: ({ requests }) => requests },
  { name: 'mean_batch', read: meanBatch },
  { name: 'client_cpu_us_per_request', read: ({ client }) => client.cpuUsPerRequest },
  { name: 'client_bound', read: ({ client }) => String(client.bound) },
  { name: 'achieved_rate', read: ({ openLoop }) => openLoop?.achievedRate },
  { name: 'late_sends', read: ({ openLoop }) => openLoop?.lateSends },
  { name: 'dropped_sends', read: ({ openLoop }) => openLoop?.droppedSends },
];

function meanBatch({ server }: Measurement): Cell {
  return server && server.executionCount > 0 ? server.inferenceCount / server.executionCount : null;
}

/** Columns added after the first release, placed after the reason of a failure. `load_batch` is empty if the study does not vary it. */
export const laterColumns: readonly MeasurementColumn[] = [
  { name: 'client_send_us', read: (measurement) => clientPartsOf(measurement)?.sendUs },
  { name: 'client_recv_us', read: (measurement) => clientPartsOf(measurement)?.receiveUs },
  { name: 'load_batch', read: ({ level }) => level.batch },
];

/** Figures of a stage that are not metrics. */
const stageColumns = ['requests', 'mean_batch'];
const frontColumns = ['load_value', 'stable', ...stageColumns];

/**
 * Returns the columns of models that are tuned together, after all others, as `COLUMN@MODEL`: for each of several fronts, what its clients see; for
 * every model, the server's split of its time. Empty for a single model.
 */
export function modelColumns(topology: Topology | undefined, metrics: Metrics): readonly MeasurementColumn[] {
  if (!topology) return [];
  const { fronts, stages } = topology;
  const isMix = fronts.length > 1;
  const models = new Set([...(isMix ? fronts.map(({ model }) => model) : []), ...stages]);
  return [...models].flatMap((model) => {
    const isFront = isMix && fronts.some((front) => front.model === model);
    const told = metrics.all.filter(({ name, ofServer, needs }) =>
      isFront ? !ofServer && !needs.includes('candidate') : OF_STAGES.includes(name),
    );
    const own = circumstances.filter(({ name }) => (isFront ? frontColumns : stageColumns).includes(name));
    return [
      ...told.flatMap(({ name }) => columnsOf(metrics.named(nameOfModel(name, model)))),
      ...own.map(({ name, read }) => ({
        name: nameOfModel(name, model),
        read: (measurement: Measurement, candidate: Candidate) => {
          const part = partOf(measurement, model);
          return part && read(part, candidate);
        },
      })),
    ];
  });
}

/** Metrics that the server reports for a model inside a pipeline. */
const OF_STAGES = ['queue-time', 'compute-time'];

/** The order of columns, which scripts rely on. Names are never moved or removed; new ones go to `laterColumns`. */
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

/** Returns the fixed columns in order, with the metrics among `columns`. A column without a metric stays and is empty. */
export const fixedColumns = (columns: readonly MetricColumn[]): readonly MeasurementColumn[] =>
  order.map((name) => [...circumstances, ...columns].find((each) => each.name === name) ?? { name, read: () => null });
