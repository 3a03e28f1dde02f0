import type { Measurement } from '#profiler/measurement.ts';
import type { DeviceMetrics } from '#profiler/server-figures.ts';
import type { Candidate } from '#space/types.ts';
import type { Interval } from '#stats/interval.ts';

/**
 * A metric for objectives and constraints. One entry in the registry is enough: options,
 * `results.csv`, report, printed lines and screen are derived from it.
 */
export interface Metric {
  /**
   * Its name in `--constraint` and `--objective`: letters, digits and hyphens. `@MODEL` selects one
   * of several models (`of-model.ts`).
   */
  readonly name: string;
  /** Name in column heads and next to figures, without the unit: `GPU memory`. */
  readonly label: string;
  /** The measured figure, in one phrase for the documentation. */
  readonly description: string;
  /** The unit of `read`, and of a value written without one; '' for a bare number. */
  readonly unit: string;
  /** Accepted spellings of units, with their factor to `unit`. */
  readonly units: Readonly<Record<string, number>>;
  readonly better: 'higher' | 'lower';
  /** null if the measurement has no interval of it; the value then counts as exact. */
  readonly interval: MetricInterval | null;
  /**
   * What the server must provide besides replies; empty if the load generator alone measures it.
   */
  readonly needs: readonly MetricNeed[];
  /** True if it is measured for the whole server, never for one model. */
  readonly ofServer?: true;
  /** How it follows from other metrics and the candidate; absent if it is measured directly. */
  readonly follows?: Derivation;
  /** Returns the value in `unit`; undefined if the measurement lacks it. */
  read(measurement: Measurement, candidate: Candidate): number | undefined;
  /** Formats the value with its unit. Default: three significant digits and `unit`. */
  format?(value: number): string;
  /**
   * Its columns in `results.csv` and `pareto.csv`. Default: one named after the metric and its
   * unit, and two more for the ends of its interval, if it has one.
   */
  readonly columns?: readonly MetricColumn[];
}

/**
 * The sources of a metric besides the replies that the load generator counts: in words, and where
 * each comes from.
 */
export const metricNeeds = {
  'server-statistics': { words: 'server statistics', source: "Triton's statistics of the model" },
  'gpu-metrics': { words: 'GPU metrics', source: "gauges `nv_gpu_…` on the server's metrics page (`--metrics-url`)" },
  'host-metrics': { words: 'CPU metrics', source: "gauges `nv_cpu_…` on the server's metrics page (`--metrics-url`)" },
  tokens: { words: 'a language model', source: 'a model that is asked with `--endpoint` and streams its replies' },
  limits: { words: 'limits', source: '`--goodput`, or the limits of request classes' },
  candidate: { words: 'the config', source: 'the candidate itself, which is always known' },
  'gpu-count': {
    words: 'the number of GPUs',
    source: 'the instance groups; if a group names none, the metrics page, nvidia-smi or `--server-gpus`',
  },
  prices: { words: 'prices', source: '`--prices`, in its currency' },
  rate: { words: 'a rate', source: '`--for-rate`' },
} as const;

export type MetricNeed = keyof typeof metricNeeds;

/** How the 95 % interval of a metric is computed from a measurement. */
export interface MetricInterval {
  /**
   * `windows`: from the differences between counted windows (`stats/batch-means.ts`). `histogram`:
   * from the order statistics of the windows' latency histograms (`stats/quantile-interval.ts`).
   */
  readonly from: 'windows' | 'histogram';
  /** The interval in the metric's unit. */
  of(measurement: Measurement, candidate: Candidate): Interval;
}

/**
 * How a metric follows from others. Samplers predict those and compute the metric from them. A
 * level search of one candidate uses only those, because more of them is never worse.
 */
export interface Derivation {
  /**
   * The metrics that it follows from, for which more is better; empty if only the candidate
   * decides.
   */
  readonly from: readonly string[];
  /**
   * The value of each that counts in a measurement, such as the lower end of its interval;
   * undefined if the measurement lacks it.
   */
  counted(measurement: Measurement): readonly number[] | undefined;
  /** Computes the metric. `device`: from any measurement of the study, for the number of GPUs. */
  of(counted: readonly number[], candidate: Candidate, device: DeviceMetrics): number | undefined;
  /** A stepless version of a value with steps; it distinguishes equal values. */
  smooth?(counted: readonly number[], candidate: Candidate, device: DeviceMetrics): number | undefined;
  /** The counted values at the ends of the measurement's intervals; absent without an interval. */
  ends?(measurement: Measurement): { readonly least: readonly number[]; readonly most: readonly number[] } | undefined;
}

/** A column of `results.csv`. */
export interface MetricColumn {
  readonly name: string;
  /** The cell in one phrase, for the documentation. Default: the description of the metric. */
  readonly meaning?: string;
  /** undefined leaves the cell empty. */
  read(measurement: Measurement, candidate: Candidate): number | undefined;
}
