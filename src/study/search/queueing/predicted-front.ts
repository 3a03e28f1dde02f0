import { paretoFront } from '#stats/front.ts';
import type { PredictedPoint } from '../../types.ts';
import type { AcquisitionPoint } from './acquisition.ts';
import type { PosteriorModel } from './posterior-model.ts';

/**
 * Returns the Pareto front of predicted throughput (infer/s) and predicted latency (ms) over
 * everything that could be measured next, by rising throughput; for a language model, of output
 * tokens per second, in total and per user. Candidates with equal predictions appear once.
 */
export function predictedFront(
  points: readonly AcquisitionPoint[],
  posterior: PosteriorModel,
): readonly PredictedPoint[] {
  const predicted = points.flatMap(({ choice, level }) => posterior.predictedPoint(choice, level) ?? []);
  return paretoFront(predicted.map(computeCosts))
    .map((index) => predicted[index] as PredictedPoint)
    .sort((a, b) => a.throughput - b.throughput)
    .filter(({ throughput }, index, front) => throughput !== front[index - 1]?.throughput);
}

const computeCosts = ({ throughput, latencyMs, tokens }: PredictedPoint): [number, number] =>
  tokens ? [-tokens.perSecond, -tokens.perUser] : [-throughput, latencyMs];
