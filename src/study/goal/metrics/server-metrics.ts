import type { Measurement } from '#profiler/measurement.ts';
import { latencyParts } from './latency-parts.ts';
import type { Metric, MetricColumn } from './metric.ts';

const US_PER_MS = 1e3;
const MIB_PER_MB = 1e6 / 2 ** 20;
const percent = { '%': 1 };

type ServerTime = 'queueUs' | 'computeInputUs' | 'computeInferUs' | 'computeOutputUs';

const serverColumn = (name: string, figure: ServerTime, meaning: string): MetricColumn => ({
  name,
  meaning,
  read: ({ server }) => server?.[figure],
});

function computeMs({ server }: Measurement): number | undefined {
  if (!server) return undefined;
  return (server.computeInputUs + server.computeInferUs + server.computeOutputUs) / US_PER_MS;
}

/** Metrics from Triton's statistics of the model. */
export const serverMetrics: readonly Metric[] = [
  {
    name: 'queue-time',
    label: 'queue',
    description: "mean time of a request in the server's queue",
    ...latencyParts,
    needs: ['server-statistics'],
    read: ({ server }) => (server ? server.queueUs / US_PER_MS : undefined),
    columns: [serverColumn('server_queue_us', 'queueUs', 'mean time of a request in the queue')],
  },
  {
    name: 'compute-time',
    label: 'compute',
    description: 'mean time of a request in execution, with its input and output',
    ...latencyParts,
    needs: ['server-statistics'],
    read: computeMs,
    columns: [
      serverColumn('server_compute_input_us', 'computeInputUs', 'mean time of copying its inputs'),
      serverColumn('server_compute_infer_us', 'computeInferUs', 'mean time of executing it'),
      serverColumn('server_compute_output_us', 'computeOutputUs', 'mean time of copying its outputs'),
    ],
  },
];

/** Metrics from the devices on the server's metrics page. */
export const deviceMetrics: readonly Metric[] = [
  {
    name: 'gpu-memory',
    label: 'GPU memory',
    description: 'memory in use, all GPUs together',
    unit: 'MiB',
    units: { MiB: 1, GiB: 1024, MB: MIB_PER_MB, GB: 1e3 * MIB_PER_MB },
    better: 'lower',
    interval: null,
    needs: ['gpu-metrics'],
    ofServer: true,
    read: ({ device }) => device.gpuMemoryMiB,
  },
  {
    name: 'gpu-utilization',
    label: 'GPU utilization',
    description: 'mean utilization of the GPUs',
    unit: '%',
    units: percent,
    better: 'lower',
    interval: null,
    needs: ['gpu-metrics'],
    ofServer: true,
    read: ({ device }) => device.gpuUtilizationPercent,
  },
  {
    name: 'gpu-power',
    label: 'GPU power',
    description: 'mean power, all GPUs together',
    unit: 'W',
    units: { W: 1, kW: 1e3 },
    better: 'lower',
    interval: null,
    needs: ['gpu-metrics'],
    ofServer: true,
    read: ({ device }) => device.gpuPowerW,
  },
  {
    name: 'cpu-utilization',
    label: 'CPU utilization',
    description: "utilization of the server's host",
    unit: '%',
    units: percent,
    better: 'lower',
    interval: null,
    needs: ['host-metrics'],
    ofServer: true,
    read: ({ device }) => device.cpuUtilizationPercent,
  },
];
