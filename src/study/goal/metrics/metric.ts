import type { DeviceMetrics, Measurement } from '../../../profiler/measurement.ts';
import type { Candidate } from '../../../space/types.ts';
import type { Interval } from '../../../stats/interval.ts';

/**
 * A figure that objectives and constraints can be about. An entry of the registry is all that a metric needs: the options, `results.csv`, the
 * report, the lines and the screen take what they show from it.
 */
export interface Metric {
  /** As `--constraint` and `--objective` write it: letters, digits and hyphens; of one model among several with `@MODEL` (`of-model.ts`). */
  readonly name: string;
  /** Names the metric in the head of a column and beside a figure, without the unit: `GPU memory`. */
  readonly label: string;
  /** Says what is measured, in one phrase for the documentation. */
  readonly description: string;
  /** The unit of `read`, and of a value written without one; '' for a bare number. */
  readonly unit: string;
  /** The spellings that a value may end with, and what one of them is in `unit`. */
  readonly units: Readonly<Record<string, number>>;
  readonly better: 'higher' | 'lower';
  /** null where the measurement has no interval of it: its value then counts as exact. */
  readonly interval: MetricInterval | null;
  /** What the server has to give besides answers to requests; empty where the load generator measures it alone. */
  readonly needs: readonly MetricNeed[];
  /** It is measured of the whole server, never of one model. */
  readonly ofServer?: true;
  /** How it follows from other metrics and the candidate; absent for what is measured by itself. */
  readonly follows?: Derivation;
  /** The value in `unit`; undefined where the measurement lacks it. */
  read(measurement: Measurement, candidate: Candidate): number | undefined;
  /** The value as people read it, with its unit. Default: three significant digits and `unit`. */
  format?(value: number): string;
  /**
   * The columns of `results.csv` and `pareto.csv` that hold it. Default: one named after the metric and its unit, and two more for the ends
   * of its interval where it has one.
   */
  readonly columns?: readonly MetricColumn[];
}

/** What a metric is read from, besides the replies that the load generator counts. */
export type MetricNeed =
  /** Triton's statistics of the model. */
  | 'server-statistics'
  /** The GPU gauges of the server's metrics page (`nv_gpu_…`). */
  | 'gpu-metrics'
  /** The CPU gauges of the server's metrics page (`nv_cpu_…`). */
  | 'host-metrics'
  /** Streamed replies of a language model. */
  | 'tokens'
  /** Limits that requests are held to, by which some are good. */
  | 'limits'
  /** The candidate itself: always there. */
  | 'candidate'
  /** How many GPUs the server has, where the config does not name those that it uses. */
  | 'gpu-count'
  /** The prices of the study's goal. */
  | 'prices'
  /** A rate that the study's goal asks for. */
  | 'rate';

/** How a measurement's 95 % interval of a metric comes about. */
export interface MetricInterval {
  /**
   * `windows`: from how the counted windows differ (`stats/batch-means.ts`). `histogram`: from the order statistics of the windows'
   * latency histograms (`stats/quantile-interval.ts`).
   */
  readonly from: 'windows' | 'histogram';
  /** The interval in the metric's unit. */
  of(measurement: Measurement, candidate: Candidate): Interval;
}

/**
 * How a metric follows from others. Samplers predict those and put them in here; a level search of one candidate goes by those alone, since more
 * of them is never worse.
 */
export interface Derivation {
  /** The metrics that it follows from, of which more is better; none where the candidate alone decides. */
  readonly from: readonly string[];
  /** What counts of each of them in a measurement, such as the lower end of its interval; undefined where the measurement lacks it. */
  counted(measurement: Measurement): readonly number[] | undefined;
  /** The value for what counts. `device`: of any measurement of the study, to tell the server's GPUs. */
  of(counted: readonly number[], candidate: Candidate, device: DeviceMetrics): number | undefined;
  /** A stepless version of a value with steps; it distinguishes equal values. */
  smooth?(counted: readonly number[], candidate: Candidate, device: DeviceMetrics): number | undefined;
  /** What would count at the ends of the measurement's intervals; absent where the value has no interval. */
  ends?(measurement: Measurement): { readonly least: readonly number[]; readonly most: readonly number[] } | undefined;
}

/** A column of `results.csv`. */
export interface MetricColumn {
  readonly name: string;
  /** undefined leaves the cell empty. */
  read(measurement: Measurement, candidate: Candidate): number | undefined;
}
