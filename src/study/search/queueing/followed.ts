import type { LogFigure, PredictFigure } from '#perfmodel/correction.ts';
import type { Choice } from '#perfmodel/modelled-config.ts';
import type { MeasuredChoice } from '#perfmodel/service-model.ts';
import type { DeviceMetrics } from '#profiler/server-figures.ts';
import { computeSize } from '../../goal/goal.ts';
import type { Derivation } from '../../goal/metrics/metric.ts';
import type { Metrics } from '../../goal/metrics/registry.ts';
import type { Stepped } from './constrained-improvement.ts';

/**
 * A metric of the goal at a point: its figure, or the result of a function with steps. `smooth`:
 * its mean without steps. All are logarithms.
 */
export interface PredictedMetric {
  readonly figure: LogFigure;
  readonly of?: Stepped['of'];
  readonly smooth?: number;
}

/**
 * Returns the measured state of the server's devices; its GPUs are the same in all measurements.
 */
export const deviceIn = (measured: readonly MeasuredChoice[]): DeviceMetrics =>
  measured.flatMap(({ measurements }) => measurements).find(({ device }) => device.gpus)?.device ?? {};

/**
 * Returns the difference between the counted part of each metric and the metric, as a logarithm:
 * the mean over the measurements. The throughput that a replica counts for, for example, is less by
 * the headroom and its interval.
 */
export function countedShifts(
  follows: Derivation,
  measured: readonly MeasuredChoice[],
  metrics: Metrics,
): readonly number[] {
  return follows.from.map((name, index) => {
    const shifts = measured.flatMap(({ choice, measurements }) =>
      measurements.flatMap((each) => {
        const counted = follows.counted(each)?.[index] ?? 0;
        const value = metrics.read(name, each, choice.candidate) ?? 0;
        return counted > 0 && value > 0 ? [Math.log(counted / value)] : [];
      }),
    );
    return shifts.length === 0 ? 0 : shifts.reduce((sum, each) => sum + each, 0) / shifts.length;
  });
}

/** The change of a logarithm over which a slope is taken. */
const SMALL = 0.01;

/**
 * Returns a metric that follows from others, by their predictions; null if one of them cannot be
 * predicted, or the candidate has no value. A metric without steps is a power of them, and as
 * normal as they are. Several metrics are assumed to be off by as much as the first.
 */
export function followed(
  follows: Derivation,
  shifts: readonly number[],
  modelFor: (name: string) => PredictFigure,
  choice: Choice,
  level: number,
  device: DeviceMetrics,
): PredictedMetric | null {
  const bases: LogFigure[] = [];
  for (const [index, name] of follows.from.entries()) {
    const figure = modelFor(name)(choice, level);
    if (figure === null) return null;
    bases.push({ ...figure, mean: figure.mean + (shifts[index] ?? 0) });
  }
  const [first] = bases;
  const { candidate } = choice;
  const countedAt = (logarithm: number): readonly number[] =>
    bases.map(({ mean }) => Math.exp(mean + logarithm - (first?.mean ?? 0)));
  const of = (logarithm: number): number => computeSize(follows, countedAt(logarithm), candidate, { device });
  const size = of(first?.mean ?? 0);
  if (Number.isNaN(size)) return null;
  if (!first) return { figure: { mean: size, sd: KNOWN_SD, shared: 0 } };
  const { smooth } = follows;
  if (smooth) {
    const smoothly = smooth(countedAt(first.mean), candidate, device);
    return { figure: first, of, smooth: smoothly === undefined ? size : Math.log(smoothly) };
  }
  const slope = (of(first.mean + SMALL) - size) / SMALL;
  return { figure: { mean: size, sd: Math.abs(slope) * first.sd, shared: slope * first.shared } };
}

/** The standard deviation of a metric of the candidate alone, to keep the arithmetic finite. */
const KNOWN_SD = 1e-6;
