import type { Measurement } from '../../profiler/measurement.ts';
import type { Interval } from '../../stats/interval.ts';

/** Speeds nearer to each other than this, as logarithms, are alike: figures are not known better. */
const ALIKE = 0.02;

/**
 * Returns a measurement that was made at the speed `own` as it would have been at another speed: all times by the ratio of the two, in a
 * closed loop the throughput too. Intervals are wider by what is not known of the speed. The measurement itself where the two are alike.
 */
export function atSpeed(measurement: Measurement, own: Interval, speed: number): Measurement {
  const factor = own.value / speed;
  if (Math.abs(Math.log(factor)) < ALIKE) return measurement;
  const doubt = Math.log(own.high / own.low) / 2;
  const isClosed = measurement.level.mode === 'concurrency';
  const { latencyMs, budgetLatencyMs, throughput, server, latencyPercentilesMs } = measurement;
  return {
    ...measurement,
    throughput: isClosed ? scaled(throughput, 1 / factor, doubt) : throughput,
    latencyMs: mapped(latencyMs, factor),
    budgetLatencyMs: { ...budgetLatencyMs, ...scaled(budgetLatencyMs, factor, doubt) },
    ...(latencyPercentilesMs && { latencyPercentilesMs: mapped(latencyPercentilesMs, factor) }),
    server: server && {
      ...server,
      queueUs: server.queueUs * factor,
      computeInputUs: server.computeInputUs * factor,
      computeInferUs: server.computeInferUs * factor,
      computeOutputUs: server.computeOutputUs * factor,
      overheadUs: server.overheadUs * factor,
      requestUs: server.requestUs * factor,
      batches: server.batches.map((batch) => ({ ...batch, meanExecutionUs: batch.meanExecutionUs * factor })),
    },
  };
}

const mapped = <T extends object>(figures: T, factor: number): T =>
  Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, (value as number) * factor])) as T;

/** Errors of a factor add up by squares, as logarithms. */
function scaled({ value, low, high }: Interval, factor: number, doubt: number): Interval {
  const wider = (bound: number): number =>
    bound > 0 && value > 0 ? Math.exp(Math.hypot(Math.log(bound / value), doubt)) : 1;
  return {
    value: value * factor,
    low: low > 0 ? (value * factor) / wider(low) : 0,
    high: value * factor * wider(high),
  };
}
